"""Schedules in Redis: added, replaced, paused, resumed, removed; what is refused leaves nothing behind."""

from datetime import UTC, datetime

import pytest
from support.keyspace import dump
from support.rubbish import NO_SECONDS
from support.wire import Wire

from jobkit.errors import DelayError, JobError, JobkitError, ScheduleError, UnknownSchedule, WrongState
from jobkit.ready import Leases
from jobkit.recurring import TRIES, Schedules


@pytest.fixture
def schedules(queue):
    return Schedules(queue)


def told(schedule):
    """All that is said of a schedule, but for moments and the version."""
    return schedule.name, schedule.job.task, schedule.when, schedule.made, schedule.dropped, schedule.paused


def test_what_was_added_is_read_back(queue, schedules):
    added = schedules.add(
        "report", "send", {"to": "ada"}, cron="30 2 * * *", tz="Europe/Berlin", catch_up="all:7", grace=5,
        priority=3, entity="ada", max_attempts=2,
    )  # fmt: skip
    found = schedules.get("report")
    assert found == added
    assert found.record() == added.record()
    assert found.job == ("send", b'{"to":"ada"}', 0, None, None, 3, "ada", 2, None)
    assert (found.cron, found.tz, found.every, found.catch_up, found.grace) == (
        "30 2 * * *",
        "Europe/Berlin",
        0,
        "all:7",
        5000,
    )
    assert str(found) == "report: send 30 2 * * * Europe/Berlin, 0 made, 0 dropped"
    assert schedules.all() == [found]


def test_the_first_slot_is_one_interval_from_now(queue, schedules):
    added = schedules.add("beat", "t", every=60)
    assert added.next == added.last + 60_000 == added.due
    assert added.last == pytest.approx(_now(queue), abs=2000)


def _now(queue):
    seconds, micros = queue.redis.time()
    return seconds * 1000 + micros // 1000


def test_the_next_due_comes_first_and_the_paused_last(schedules):
    for name, every in (("c", 30), ("a", 20), ("b", 10)):
        schedules.add(name, "t", every=every)
    schedules.pause("b")
    assert [schedule.name for schedule in schedules.all()] == ["a", "c", "b"]


# -- replacing ---------------------------------------------------------------------------------------


def test_adding_the_same_again_changes_nothing_of_how_far_it_has_come(queue, schedules):
    schedules.add("beat", "t", every=60)
    queue.redis.clock.advance(150)
    schedules.fire()
    schedules.pause("beat")
    before = schedules.get("beat")
    assert (before.made, before.dropped) == (1, 1)
    after = schedules.add("beat", "other", {"n": 1}, every=60, catch_up="skip")
    assert (after.last, after.next, after.made, after.dropped, after.paused) == (before.last, before.next, 1, 1, True)
    assert (after.job.task, after.catch_up) == ("other", "skip")


def test_a_program_that_starts_again_loses_nothing_of_its_time_away(queue, schedules):
    schedules.add("beat", "t", every=60, catch_up="all:100")
    queue.redis.clock.advance(300)
    Schedules(queue).add("beat", "t", every=60, catch_up="all:100")
    assert len(schedules.fire().occurred[0].slots) == 5


@pytest.mark.parametrize("other", [{"every": 61}, {"cron": "* * * * *"}])
def test_another_timetable_begins_anew(queue, schedules, other):
    schedules.add("beat", "t", every=60, catch_up="all:100")
    queue.redis.clock.advance(300)
    assert schedules.add("beat", "t", **other).last == pytest.approx(
        schedules.get("beat").ahead + _now(queue), abs=2000
    )
    assert schedules.fire().occurred == []


# -- pausing -----------------------------------------------------------------------------------------


def test_what_is_paused_does_not_occur_and_is_not_made_up_for(queue, schedules):
    schedules.add("beat", "t", every=60, catch_up="all:100")
    assert schedules.pause("beat").due is None
    queue.redis.clock.advance(610)
    assert schedules.fire() == ([], None, False)
    resumed = schedules.resume("beat")
    assert schedules.fire().occurred == []
    queue.redis.clock.advance(60)
    (occurred,) = schedules.fire().occurred
    assert occurred.slots == [resumed.last + 60_000], "the grid stays"
    assert occurred.dropped == 0


def test_resuming_what_runs_drops_nothing(queue, schedules):
    schedules.add("beat", "t", every=60)
    queue.redis.clock.advance(70)
    schedules.resume("beat")
    assert len(schedules.fire().occurred) == 1


def test_remove(queue, schedules):
    schedules.add("beat", "t", every=60)
    before = dump(queue.redis)
    schedules.add("other", "t", every=60)
    schedules.remove("other")
    assert dump(queue.redis) == before
    with pytest.raises(UnknownSchedule, match="other"):
        schedules.get("other")


def test_a_removal_that_is_sent_again_spares_what_was_added_since(queue, schedules, monkeypatch):
    schedules.add("beat", "t", every=60)
    sent, call = [], queue.call
    monkeypatch.setattr(queue, "call", lambda *args, **named: sent.append((args, named)) or call(*args, **named))
    schedules.remove("beat")
    ((args, named),) = sent  # its reply was lost
    schedules.add("beat", "t", every=90)
    call(*args, **named)
    assert schedules.get("beat").every == 90_000


def test_a_removal_is_tried_again_when_the_schedule_goes_on_meanwhile(queue, schedules, monkeypatch):
    schedules.add("beat", "t", every=60)
    get = schedules.get

    def fired_since(name):
        found = get(name)
        queue.clock.advance(61)
        assert len(schedules.fire().occurred) == 1
        return found

    monkeypatch.setattr(schedules, "get", fired_since)
    schedules.remove("beat")
    assert schedules.all() == []


@pytest.mark.parametrize("verb", ["get", "pause", "resume", "remove"])
def test_what_is_not_there(schedules, verb):
    with pytest.raises(UnknownSchedule, match="'nobody'"):
        getattr(schedules, verb)("nobody")


# -- what is refused -----------------------------------------------------------------------------------


BAD = {
    "neither": {},
    "both": {"cron": "* * * * *", "every": 5},
    "cron": {"cron": "61 * * * *"},
    "never": {"cron": "0 0 30 2 *"},
    "zone": {"cron": "* * * * *", "tz": "Nowhere/X"},
    "every": {"every": 0.5},
    "every, text": {"every": "5"},
    "catch_up": {"every": 5, "catch_up": "all"},
    "grace": {"every": 5, "grace": float("nan")},
    "priority": {"every": 5, "priority": 10},
    "entity": {"every": 5, "entity": ""},
    "max_attempts": {"every": 5, "max_attempts": 0},
    "lease": {"every": 5, "lease": 30},
    "args": {"every": 5, "args": {1: 2}},
    "task": {"every": 5, "task": ""},
    "name": {"every": 5, "name": "x" * 151},
    "no name": {"every": 5, "name": ""},
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_gets_an_error_and_writes_nothing(queue, schedules, bad):
    schedules.add("beat", "t", every=60)
    before = dump(queue.redis)
    with pytest.raises((ScheduleError, JobError, DelayError)):
        schedules.add(**({"name": "beat", "task": "t"} | BAD[bad]))
    assert dump(queue.redis) == before


@pytest.mark.parametrize("name", NO_SECONDS)
def test_an_interval_is_seconds(schedules, name):
    with pytest.raises(JobkitError, match="every"):
        schedules.add("beat", "t", every=NO_SECONDS[name])


def test_any_name_and_any_payload(queue, schedules):
    for name in ("a}{b:c", "ünï cödé @*", "x" * 150):
        schedules.add(name, "t", b"\x00\xff", every=60)
        queue.redis.clock.advance(60)
        (occurred,) = schedules.fire().occurred
        assert occurred.name == name
        (claim,) = queue.claim("w")
        assert claim.payload == b"\x00\xff"
        assert claim.id.startswith(f"{name}@2")
        schedules.remove(name)


def test_a_lease_of_its_own_where_the_store_keeps_one(make_queue):
    queue = make_queue(ready=Leases())
    schedules = Schedules(queue)
    schedules.add("beat", "t", every=60, lease=99)
    queue.redis.clock.advance(60)
    schedules.fire()
    assert queue.claim("w")[0].lease_ms == 99_000


# -- others, and lost replies ---------------------------------------------------------------------------


def test_a_change_looks_again_if_somebody_was_quicker(make_queue, redis):
    others, wire = Schedules(make_queue()), Wire()
    others.add("beat", "t", every=60)
    schedules, turns = Schedules(make_queue(client=wire.client(redis))), iter(range(100))

    def interfere(times):
        if next(turns) < times:
            others.add("beat", "t", every=60, grace=next(turns))

    wire.before = lambda: interfere(3)
    schedules.pause("beat")
    assert others.get("beat").paused
    assert others.get("beat").grace != 60_000
    turns = iter(range(100))
    wire.before = lambda: interfere(4 * TRIES)
    with pytest.raises(WrongState, match=f"{TRIES} times"):
        schedules.resume("beat")
    wire.before = lambda: None


@pytest.mark.parametrize("verb", ["add", "pause", "resume", "remove"])
def test_a_lost_reply_is_answered_by_the_same_call_again(make_queue, redis, verb):
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    schedules = Schedules(queue)
    schedules.add("beat", "t", every=60)
    before = wire.scripts()
    wire.lose = 1 if verb == "remove" else 2  # what time it is, then the write
    schedules.add("beat", "t", every=60, grace=1) if verb == "add" else getattr(schedules, verb)("beat")
    assert wire.lost == 1
    assert wire.scripts() - before == (2 if verb == "remove" else 3)
    assert [schedule.paused for schedule in schedules.all()] == {"pause": [True], "remove": []}.get(verb, [False])


def test_a_schedule_that_begins_in_a_zone_on_a_day_of_change(fake, make_queue):
    """Added at 02:10 for the second time: today's 02:30 is over."""
    queue = make_queue(client=fake)
    target = datetime(2026, 10, 25, 1, 10, tzinfo=UTC).timestamp()
    fake.clock.advance(target - fake.clock.now() / 1000)
    added = Schedules(queue).add("night", "t", cron="30 2 * * *", tz="Europe/Berlin")
    assert datetime.fromtimestamp(added.next / 1000, UTC) == datetime(2026, 10, 26, 1, 30, tzinfo=UTC)
