"""One occurrence is one job: whoever fires, whatever is lost, whatever was missed."""

import logging
import re

import pytest
import redis as redis_py
from support.keyspace import dump
from support.stores import STORES
from support.wire import Wire
from support.world import levels

from jobkit.leader import Leader
from jobkit.ready import Streams
from jobkit.recurring import Schedules
from jobkit.timetable import slot_text


@pytest.fixture
def schedules(queue):
    return Schedules(queue)


def ids(queue):
    """The ids of all ready jobs of a stream, in order."""
    return [fields[b"id"].decode() for _, fields in queue.redis.xrange(queue.keys.ready)]


@pytest.mark.parametrize("store", [make() for make in STORES], ids=lambda store: store.name)
def test_an_occurrence_is_a_ready_job(queue, schedules, store):
    added = schedules.add("beat", "t", {"n": 1}, every=60, priority=2, entity="e", max_attempts=3)
    assert schedules.fire() == ([], pytest.approx(60, abs=2), False)
    queue.redis.clock.advance(60)
    occurred, wait, _ = schedules.fire()
    assert occurred == [("beat", [added.next], 0)]
    assert str(occurred[0]) == f"beat: {slot_text(added.next)} made"
    assert wait == pytest.approx(60, abs=2)
    (claim,) = queue.claim("w")
    assert claim.id == f"beat@{slot_text(added.next)}"
    assert (claim.task, claim.args, claim.priority, claim.entity, claim.max_attempts) == ("t", {"n": 1}, 2, "e", 3)
    assert claim.run_at == added.next - schedules.get("beat").ahead
    queue.ack(claim)
    assert queue.counts().totals == {"submitted": 1, "occurred": 1, "done": 1}


def test_each_slot_once_whoever_fires(make_queue):
    queues = [make_queue() for _ in range(3)]
    firing = [Schedules(queue) for queue in queues]
    firing[0].add("beat", "t", every=60)
    made = []
    for n in range(20):
        queues[0].redis.clock.advance(60)
        for one in firing[n % 3 :] + firing[: n % 3]:
            made += [slot for occurred in one.fire().occurred for slot in occurred.slots]
    assert len(made) == len(set(made)) == 20
    assert sorted(ids(queues[0])) == [f"beat@{slot_text(slot)}" for slot in made]


def test_the_totals_and_the_record_tell_what_was_dropped(queue, schedules, caplog):
    schedules.add("beat", "t", every=60, catch_up="all:2")
    queue.redis.clock.advance(60 * 10 + 30)
    with caplog.at_level(logging.WARNING, "jobkit.scheduler"):
        (occurred,) = schedules.fire().occurred
    assert (len(occurred.slots), occurred.dropped) == (3, 7)
    assert str(occurred).endswith("Z made, 7 dropped")
    found = schedules.get("beat")
    assert (found.made, found.dropped) == (3, 7)
    assert queue.counts().totals == {"submitted": 3, "occurred": 3, "missed": 7}
    assert "7 missed occurrences are dropped" in caplog.text


def test_no_drift_however_late_it_is_fired(queue, schedules):
    added = schedules.add("beat", "t", every=60)
    for late in (0, 17, 41, 3, 59):
        queue.redis.clock.advance(60 + late)
        schedules.fire()
        queue.redis.clock.advance(-late % 60)
    assert (schedules.get("beat").last - added.last) % 60_000 == 0


def test_many_schedules_are_fired_in_steps_of_a_bounded_size(queue, schedules):
    for n in range(7):
        schedules.add(f"s{n}", "t", every=60 + n)
    queue.redis.clock.advance(66)
    rounds = [schedules.fire(limit=3) for _ in range(3)]
    assert [len(fired.occurred) for fired in rounds] == [3, 3, 1]
    assert [fired.wait == 0 for fired in rounds] == [True, True, False]


def test_a_long_time_away_is_made_up_for_in_steps(queue, schedules):
    schedules.add("beat", "t", every=1, catch_up="all:1000", grace=0)
    queue.redis.clock.advance(1100)
    first, second, third = (schedules.fire() for _ in range(3))
    assert [len(fired.occurred[0].slots) for fired in (first, second)] == [500, 500]
    assert (first.wait, second.wait) == (0, pytest.approx(1, abs=1))
    assert len(third.occurred) <= 1, "as far as real time has gone on"
    assert 99 <= schedules.get("beat").dropped <= 102


def test_an_id_that_is_taken_is_the_occurrence(queue, schedules):
    added = schedules.add("beat", "t", every=60)
    queue.submit("t", id=f"beat@{slot_text(added.next)}")
    queue.redis.clock.advance(60)
    schedules.fire()
    assert levels(queue)[1] == 1
    assert schedules.get("beat").made == 0


# -- fencing ------------------------------------------------------------------------------------------


def test_an_old_leaders_write_is_refused(queue, schedules):
    schedules.add("beat", "t", every=60)
    old, new = Leader(queue, "old"), Leader(queue, "new")
    number = old.elect()
    queue.redis.clock.advance(61)
    assert new.elect() == number + 1
    before = dump(queue.redis)
    assert schedules.fire(number) == ([], 0.0, True)
    assert dump(queue.redis) == before
    assert len(schedules.fire(new.number).occurred) == 1


def test_an_old_leader_that_computed_before_it_was_paused_writes_nothing(make_queue, redis):
    """Paused between the question and the write, while the new leader fires: with or without a number."""
    wire = Wire()
    late, queue = make_queue(client=wire.client(redis)), make_queue()
    Schedules(queue).add("beat", "t", every=60)
    old, new = Leader(queue, "old"), Leader(queue, "new")
    Schedules(queue).fire()  # the server learns the script
    for number in (old.elect(), None):
        redis.clock.advance(61)
        asked = iter([False, True])

        def meanwhile(asked=asked):
            if next(asked, False):
                new.elect()
                assert len(Schedules(queue).fire(new.number).occurred) == 1

        wire.before = meanwhile
        fired = Schedules(late).fire(number)
        wire.before = lambda: None
        assert (fired.occurred, fired.fenced) == ([], number is not None)
    assert levels(queue)[1] == 2


# -- lost replies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_lost_reply_is_answered_by_the_same_call_again(make_queue, redis, known):
    plain, wire = make_queue(), Wire()
    Schedules(plain).add("beat", "t", every=60, catch_up="all:9")
    lossy = Schedules(make_queue(client=wire.client(redis)))
    redis.clock.advance(60)
    assert len(lossy.fire().occurred) == 1
    redis.clock.advance(150)
    if not known:
        redis.script_flush()
    wire.lose = 2 if known else 4  # due, then occur
    (occurred,) = lossy.fire().occurred
    assert wire.lost == 1
    assert len(occurred.slots) == 2
    assert levels(plain)[1] == 3
    assert Schedules(plain).get("beat").made == 3


# -- one bad schedule stops only itself ------------------------------------------------------------------


def spoil(field, value):
    return lambda queue: queue.redis.hset(queue.keys.schedule + "bad", field, value)


def other_type(queue):
    queue.redis.delete(queue.keys.schedule + "bad")
    queue.redis.set(queue.keys.schedule + "bad", "text")


SPOILT = {
    "cron": (spoil("cron", "61 * * * *"), "Bad minute"),
    "zone": (spoil("tz", "Nowhere/X"), "Nowhere/X"),
    "policy": (spoil("catch_up", "sometimes"), "catch_up"),
    "last": (spoil("last", "soon"), "cannot be read"),
    "task": (spoil("task", ""), "a task is text"),
    "bytes": (spoil("entity", b"\xff"), "cannot be read"),
    "priority": (spoil("priority", "12"), "priority"),
    "a field is missing": (lambda queue: queue.redis.hdel(queue.keys.schedule + "bad", "task"), "'task' is missing"),
    "gone": (lambda queue: queue.redis.delete(queue.keys.schedule + "bad"), "gone"),
    "another type": (other_type, "cannot be read"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_one_bad_schedule_stops_only_itself(queue, schedules, caplog, how):
    spoil_it, why = SPOILT[how]
    schedules.add("good", "t", every=60)
    schedules.add("bad", "t", cron="* * * * *")
    spoil_it(queue)
    queue.redis.clock.advance(60)
    with caplog.at_level(logging.ERROR, "jobkit.scheduler"):
        fired = schedules.fire()
    assert [occurred.name for occurred in fired.occurred] == ["good"]
    assert re.search(r"schedule bad of q is stopped", caplog.text)
    found = {schedule.name: schedule.error for schedule in schedules.all()}
    assert found == {"good": "", "bad": found["bad"]}
    assert why in found["bad"]
    assert queue.redis.zscore(queue.keys.schedules, "bad") == float("inf")
    queue.redis.clock.advance(60)
    assert [occurred.name for occurred in schedules.fire().occurred] == ["good"]
    schedules.add("bad", "t", cron="* * * * *")
    queue.redis.clock.advance(60)
    assert len(schedules.fire().occurred) == 2
    if how == "another type":
        schedules.remove("bad")


def test_what_is_stopped_keeps_what_it_is(queue, schedules):
    schedules.add("bad", "t", {"n": 1}, cron="* * * * *")
    spoil("tz", "Nowhere/X")(queue)
    queue.redis.clock.advance(60)
    schedules.fire()
    found = schedules.get("bad")
    assert (found.job.args, found.tz, found.due) == (b'{"n":1}', "Nowhere/X", None)
    spoil("tz", "UTC")(queue)
    assert schedules.resume("bad").error == ""


def test_the_others_have_their_turn_where_the_server_refuses_one(queue, schedules):
    added = schedules.add("bad", "t", every=60)
    schedules.add("good", "t", every=61)
    queue.redis.set(queue.keys.job + f"bad@{slot_text(added.next)}", "no hash")
    queue.redis.clock.advance(61)
    with pytest.raises(redis_py.ResponseError, match="WRONGTYPE"):
        schedules.fire()
    assert [schedules.get(name).made for name in ("bad", "good")] == [0, 1]
    queue.redis.delete(queue.keys.job + f"bad@{slot_text(added.next)}")


# -- a stamp from the future --------------------------------------------------------------------------------


def test_a_last_run_in_the_future_stops_it_and_resume_starts_it_from_now(queue, schedules):
    schedules.add("good", "t", every=60)
    added = schedules.add("beat", "t", every=60)
    far = added.last + 30 * 86_400_000
    spoil_far = {"last": far, "next": far + 60_000}
    queue.redis.hset(queue.keys.schedule + "beat", mapping=spoil_far)
    queue.redis.zadd(queue.keys.schedules, {"beat": far + 60_000})
    assert schedules.check() == ["beat"]
    assert schedules.get("beat").error == "its last run is 30 days in the future"
    assert schedules.check() == []
    assert [schedule.name for schedule in schedules.all() if schedule.error] == ["beat"]
    resumed = schedules.resume("beat")
    assert resumed.last < added.last + 60_000
    queue.redis.clock.advance(61)
    assert len(schedules.fire().occurred) == 2


def test_a_clock_that_was_set_back_a_little_is_no_error(queue, schedules):
    added = schedules.add("beat", "t", every=60)
    queue.redis.hset(queue.keys.schedule + "beat", "last", added.last + 30_000)
    assert schedules.check() == []


def test_redis_decides_what_is_due(queue, schedules, monkeypatch):
    """A caller that takes it for later than it is: the script knows better."""
    schedules.add("beat", "t", every=60)
    call = queue.call

    def hurried(script, *rest, **named):
        reply = call(script, *rest, **named)
        if script == "due":
            reply = [reply[0] + 90_000, -1, b"beat", [*_flat(queue)]]
        return reply

    monkeypatch.setattr(queue, "call", hurried)
    before = dump(queue.redis)
    assert schedules.fire() == ([], 1.0, False)
    assert dump(queue.redis) == before


def _flat(queue):
    return [part for pair in queue.redis.hgetall(queue.keys.schedule + "beat").items() for part in pair]


def test_another_store_is_an_error_for_all(make_queue, store):
    from jobkit.errors import ConfigError
    from jobkit.ready import Lists

    queue = make_queue()
    queue.submit("t")
    schedules = Schedules(queue)
    schedules.add("beat", "t", every=60)
    queue.redis.clock.advance(60)
    other = type(queue)(queue.redis, "q", ready=Lists())
    assert isinstance(store, Streams)
    with pytest.raises(ConfigError, match="streams"):
        Schedules(other).fire()
    assert schedules.get("beat").error == ""
