"""requeue: a dead letter's next life, with its payload and its history."""

import pytest
from support.seeds import ROWS
from support.table import Change, check, complete
from support.world import levels, row, rows, totals

from jobkit.submission import New

REQUEUE = complete(
    {"dead": Change({"j": "requeued"}, "scheduled 0/5 #1 [dead 1, requeued 0]", ("requeued",))},
    otherwise=lambda state: {"j": ROWS[state].split()[0]},
)


@pytest.mark.parametrize(("state", "expected"), REQUEUE)
def test_requeue(queue, state, expected):
    check(queue, state, lambda queue, _: queue.requeue("j"), expected)


def bury(queue, *names, **settings):
    queue.submit_many([New("t", {"of": name}, id=name, **settings) for name in names])
    for claim in queue.claim("w", len(names)):
        queue.fail(claim, f"{claim.id} is bad", permanent=True)


def due(queue, *names):
    """How long from now, in seconds, until each is due."""
    now = queue.get(names[0]).run_at
    return [(queue.get(name).run_at - now) / 1000 for name in names]


def test_payload_priority_entity_and_history_stay(queue):
    queue.submit("mail", {"to": "ada"}, id="j", priority=4, entity="e", max_attempts=2)
    for _ in range(2):
        queue.promote()
        queue.fail(*queue.claim("w"), "boom")
    before = queue.get("j")
    queue.requeue("j")
    after = queue.get("j")
    assert (after.task, after.args, after.priority, after.entity) == ("mail", {"to": "ada"}, 4, "e")
    assert (after.created, after.max_attempts, after.attempt) == (before.created, 2, 0)
    assert [event.outcome for event in queue.history("j")] == ["retry", "dead", "requeued"]
    assert queue.history("j")[1].error["message"] == "boom"


def test_it_has_all_its_attempts_again(queue):
    bury(queue, "j", max_attempts=3)
    queue.requeue("j")
    attempts = []
    for _ in range(3):
        queue.promote()
        (claim,) = queue.claim("w")
        attempts.append(claim.attempt)
        queue.fail(claim, "again")
    assert attempts == [1, 2, 3]
    assert row(queue).startswith("dead 3/3")


def test_replays_are_counted(queue):
    bury(queue, "j")
    for replays in range(1, 4):
        queue.requeue("j")
        queue.promote()
        queue.fail(*queue.claim("w"), "again", permanent=True)
        assert queue.dead()[0].replays == replays
    assert totals(queue) == {"submitted": 1, "dead": 4, "requeued": 3}


def test_all_of_them_if_none_is_named(queue):
    bury(queue, *"abc")
    assert queue.requeue() == {"a": "requeued", "b": "requeued", "c": "requeued"}
    assert levels(queue) == (3, 0, 0, 0)
    assert queue.requeue() == {}


def test_at_once_unless_said_otherwise(queue):
    bury(queue, *"abc")
    queue.requeue()
    assert due(queue, *"abc") == [0, 0, 0]
    assert queue.promote().moved == 3


def test_spread_evenly_over_a_time(queue):
    names = [f"j{n}" for n in range(10)]
    bury(queue, *names)
    queue.requeue(*names, over=60)
    assert due(queue, *names) == [6 * n for n in range(10)]
    moved = []
    for _ in range(10):
        moved.append(queue.promote().moved)
        queue.redis.clock.advance(6)
    assert moved == [1] * 10


def test_spread_goes_on_from_one_call_of_the_script_to_the_next(queue):
    names = [f"j{n}" for n in range(510)]
    bury(queue, *names)
    queue.requeue(*names, over=51)
    assert due(queue, *names) == pytest.approx([0.1 * n for n in range(510)], abs=1)


def test_some_are_not_dead(queue):
    bury(queue, "a", "b")
    queue.submit("t", id="live", delay=9)
    assert queue.requeue("a", "live", "nobody", "b") == {
        "a": "requeued",
        "live": "scheduled",
        "nobody": "missing",
        "b": "requeued",
    }
    assert rows(queue)["live"] == "scheduled 0/5"


def test_the_same_one_twice_in_a_call(queue):
    bury(queue, "a")
    assert queue.requeue("a", "a") == {"a": "requeued"}
    assert totals(queue)["requeued"] == 1


def test_a_letter_whose_record_is_gone_is_struck_off(queue):
    bury(queue, "a", "b")
    queue.redis.delete(queue.keys.job + "a")
    assert queue.requeue() == {"a": "missing", "b": "requeued"}
    assert levels(queue) == (1, 0, 0, 0)
    assert totals(queue)["dropped"] == 1


def test_the_history_keeps_the_newest_events_only(make_queue):
    queue = make_queue(history_max=3)
    queue.submit("t", id="j", max_attempts=1)
    for life in range(5):
        queue.promote()
        queue.fail(*queue.claim("w"), f"life {life}")
        queue.requeue("j")
    assert [(event.outcome, event.error.get("message")) for event in queue.history("j")] == [
        ("requeued", None),
        ("dead", "life 4"),
        ("requeued", None),
    ]
    assert sum(field.startswith(b"history:") for field in queue.redis.hkeys(queue.keys.job + "j")) == 3
