"""Many schedulers, killed and paused at random for hours: each occurrence is one job."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobkit.clock import VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.leader import Leader
from jobkit.queue import Queue
from jobkit.recurring import Schedules
from jobkit.timetable import slot_text

LEASE = 60


class Asleep(BaseException):
    """The process stands still before this call; BaseException, so that nobody catches it."""


class Instance:
    """A process with a scheduler in it: it can be paused between any two commands, and killed."""

    def __init__(self, redis, name, *, leads, rng):
        self.queue, self.asleep, self.held = Queue(redis, "q"), 0, None
        self.leader = Leader(self.queue, name, lease=LEASE) if leads else None
        self.schedules = Schedules(self.queue, rng=rng)
        self._call, self.queue.call = self.queue.call, self._stand_still_or_call
        self.pause_at = None

    def _stand_still_or_call(self, script, *rest, **named):
        if script == self.pause_at:
            self.held = (script, rest, named)
            raise Asleep
        return self._call(script, *rest, **named)

    def tick(self):
        """Do a scheduler's round; after a pause, first what it was about to do."""
        if self.held:
            (script, rest, named), self.held = self.held, None
            self._call(script, *rest, **named)
            return
        number = self.leader.elect() if self.leader else None
        if self.leader is None or number is not None:
            self.schedules.fire(number)

    def tick_until(self, pause_at):
        """Do a round as far as a script, and stand still before it."""
        self.pause_at = pause_at
        try:
            self.tick()
        except Asleep:
            pass
        finally:
            self.pause_at = None


def live_through(redis, *, instances, seconds, leads, seed, every=60):
    """Run instances for so long; some are paused in mid-round for up to three leases, some killed and replaced."""
    rng = Random(seed)
    made = [0, 0]
    crew = [Instance(redis, f"s{n}", leads=leads, rng=Random(n)) for n in range(instances)]
    added = crew[0].schedules.add("beat", "t", every=every, catch_up="all:1000")
    now, names = 0.0, instances
    while now < seconds:
        step = rng.uniform(LEASE / 6, LEASE / 2)
        redis.clock.advance(step)
        now += step
        for n, instance in enumerate(crew):
            fate = rng.random()
            if instance.asleep > now:
                continue
            if fate < 0.05:
                instance.tick_until(rng.choice(["elect", "due", "occur"]))
                instance.asleep = now + rng.uniform(0, 3 * LEASE)
                made[0] += 1
            elif fate < 0.08:
                instance.tick_until(rng.choice(["elect", "due", "occur"]))
                crew[n] = Instance(redis, f"s{names}", leads=leads, rng=Random(names))
                names += 1
                made[1] += 1
            else:
                instance.tick()
    redis.clock.advance(4 * LEASE)
    for _ in range(4):
        for instance in crew:
            instance.tick()
        redis.clock.advance(LEASE / 3)
    return added, crew[0], made


def check_each_once(redis, added, instance, seconds):
    """Every slot is one job, and nothing else is."""
    found = [fields[b"id"].decode() for _, fields in redis.xrange(instance.queue.keys.ready)]
    record = instance.schedules.get("beat")
    slots = range(added.next, record.last + 1, added.every)
    assert found == [f"beat@{slot_text(slot)}" for slot in slots]
    assert len(found) >= seconds * 1000 // added.every
    assert (record.made, record.dropped) == (len(found), 0)
    assert instance.queue.counts().totals == {"submitted": len(found), "occurred": len(found)}


@pytest.mark.parametrize("where", ["fake", pytest.param("live", marks=pytest.mark.slow)])
def test_ten_hours_of_a_minutely_schedule_under_three_schedulers(where, request):
    redis = request.getfixturevalue(where)
    added, instance, (paused, killed) = live_through(redis, instances=3, seconds=36_000, leads=True, seed=1)
    check_each_once(redis, added, instance, 36_000)
    assert paused > 100
    assert killed > 50
    assert int(redis.get(instance.queue.keys.terms)) > 30


def test_two_hours_without_a_leader(fake):
    added, instance, _ = live_through(fake, instances=3, seconds=7200, leads=False, seed=1)
    check_each_once(fake, added, instance, 7200)


@pytest.mark.parametrize("instances", [1, 3, 10])
def test_half_an_hour_whoever_many(redis, instances):
    added, instance, _ = live_through(redis, instances=instances, seconds=1800, leads=True, seed=instances)
    check_each_once(redis, added, instance, 1800)


@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), instances=st.integers(1, 4), leads=st.booleans(), every=st.sampled_from([7, 60]))
def test_whenever_they_are_paused_and_killed(seed, instances, leads, every):
    with FakeRedis(VirtualClock()).client() as redis:
        added, instance, _ = live_through(redis, instances=instances, seconds=600, leads=leads, seed=seed, every=every)
        check_each_once(redis, added, instance, 600)
