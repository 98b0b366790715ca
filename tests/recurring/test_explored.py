"""Every order of two schedulers over one occurrence, with a crash, a lost reply and a lease that passes: one job.

And the same search finds what the documents' own ways lose, or double.
"""

from random import Random

import pytest
from support.mutants import forget_lua, seed_lua

from jobkit.explore import explore
from jobkit.leader import Leader
from jobkit.queue import Queue
from jobkit.recurring import Schedules
from jobkit.scheduler import Scheduler
from jobkit.timetable import slot_text

LEASE = 10


def parts(redis, name):
    queue = Queue(redis, "q", rng=Random(name))
    return queue, Schedules(queue, rng=Random(name))


def due(redis):
    """A schedule whose one occurrence is due."""
    _, schedules = parts(redis, "set-up")
    schedules.add("beat", "t", every=60)
    redis.clock.advance(60)


def with_a_leader(redis, me):
    queue, schedules = parts(redis, me.name)
    leader = Leader(queue, me.name, lease=LEASE)
    number = leader.elect()
    if number is not None:
        schedules.fire(number)


def by_the_record_alone(redis, me):
    _, schedules = parts(redis, me.name)
    schedules.fire()


def a_whole_tick(redis, me):
    queue, schedules = parts(redis, me.name)
    Scheduler(queue, recurring=schedules, leader=Leader(queue, me.name, lease=LEASE)).tick()


def a_pause_and_a_resume(redis, me):
    _, schedules = parts(redis, me.name)
    schedules.pause("beat")
    schedules.resume("beat")


def jobs_of(redis):
    queue, _ = parts(redis, "look")
    return [fields[b"id"].decode() for _, fields in redis.xrange(queue.keys.ready)]


def never_two_jobs(world):
    assert len(jobs_of(world.redis)) <= 1


def exactly_one_job(world):
    """Whoever comes later finds it made, or makes it."""
    queue, schedules = parts(world.redis, "afterwards")
    schedules.fire()
    record = schedules.get("beat")
    assert jobs_of(world.redis) == [f"beat@{slot_text(record.last)}"]
    assert (record.made, record.dropped, queue.counts().totals["occurred"]) == (1, 0, 1)


def only_the_newest_leader_writes(world):
    """A write with a number that is not the newest is answered `fenced`, and changes nothing."""
    event = world.events[-1] if world.events else None
    if event and getattr(event.request, "commands", None) and event.replies and event.replies[-1] == b"made 1":
        _, _, keys, *words = event.request.commands[-1]
        number, newest = words[int(keys) + 1], world.redis.get(parts(world.redis, "look")[0].keys.terms)
        again = any(other is not event and other.replies[-1:] == (b"made 1",) for other in world.events)
        assert number in {b"0", newest} or again, f"number {number} wrote, and {newest} leads"


def met(*workers, finally_=exactly_one_job, **options):
    return explore(
        *workers,
        given=due,
        always=[never_two_jobs, only_the_newest_leader_writes],
        finally_=finally_,
        **({"crashes": 1, "lost_replies": 1, "clock_jump": LEASE + 1, "bound": 2} | options),
    )


PAIRS = [
    (with_a_leader, with_a_leader),
    (by_the_record_alone, by_the_record_alone),
    (with_a_leader, by_the_record_alone),
]

NAMES = [" and ".join(one.__name__ for one in pair) for pair in PAIRS]


def holds(report):
    assert report, str(report)
    assert report.coverage.complete, report.verdict


EACH = [pytest.param(pair, marks=pytest.mark.slow if n else (), id=NAMES[n]) for n, pair in enumerate(PAIRS)]


@pytest.mark.parametrize("pair", EACH)
def test_one_occurrence_is_one_job(pair):
    holds(met(*pair))
    holds(met(*pair, crashes=0, lost_replies=0, bound=4))  # paused for a lease, there and back


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pair", PAIRS, ids=NAMES)
def test_one_occurrence_is_one_job_whatever_comes_together(pair):
    holds(met(*pair, bound=4, schedules=50_000))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bound", [1, 2])
def test_whole_ticks(bound):
    holds(met(a_whole_tick, a_whole_tick, bound=bound, schedules=50_000))


@pytest.mark.parametrize("bound", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_pause_meanwhile_makes_none_twice(bound):
    holds(met(with_a_leader, a_pause_and_a_resume, bound=bound, finally_=[]))


def test_without_the_fence_an_old_leader_writes(monkeypatch):
    fence = "if number ~= '0' and redis.call('GET', terms) ~= number then return 'fenced' end"
    seed_lua(monkeypatch, "lua/occur.lua", fence, "")
    try:
        report = met(with_a_leader, with_a_leader, crashes=0, lost_replies=0, bound=3)
    finally:
        forget_lua(monkeypatch)
    assert not report
    assert report.failure.promise == "only the newest leader writes"


# -- the documents' ways ---------------------------------------------------------------------------------


def set_nx_then_enqueue(redis, me):
    if redis.set("run:beat:60", 1, nx=True, ex=3600):
        redis.xadd("ready", {"id": "beat:60"})


def leader_then_enqueue(redis, me):
    """A lease, and no mark: who was paused in between enqueues all the same."""
    leads = redis.set("leader:scheduler", me.name, nx=True, px=10_000)
    if leads and redis.get("last") != b"60":
        redis.xadd("ready", {"id": "beat:60"})
        redis.set("last", 60)


def one_entry(world):
    assert world.redis.xlen("ready") == 1


def at_most_one_entry(world):
    assert world.redis.xlen("ready") <= 1


def test_set_nx_alone_makes_none_twice_and_loses_one_in_a_crash():
    pair = (set_nx_then_enqueue, set_nx_then_enqueue)
    assert explore(*pair, finally_=one_entry)
    report = explore(*pair, crashes=1, finally_=one_entry)
    assert not report
    assert report.failure.forced == 1


def test_a_lease_alone_makes_two_when_the_leader_is_paused():
    pair = (leader_then_enqueue, leader_then_enqueue)
    assert explore(*pair, finally_=at_most_one_entry)
    report = explore(*pair, clock_jump=11, finally_=at_most_one_entry)
    assert not report
