"""Dead letters: bounded, listed, purged; what is dropped is counted."""

import pytest
from support.keyspace import server_ms
from support.table import Change, check, complete
from support.world import ids, levels, row, totals

from jobkit.submission import New

PURGE = complete({"dead": Change(1, "missing", ("dropped",))}, otherwise=0)


@pytest.mark.parametrize(("state", "expected"), PURGE)
def test_purge_by_id(queue, state, expected):
    check(queue, state, lambda queue, _: queue.purge("j"), expected)


@pytest.mark.parametrize(("state", "expected"), PURGE)
def test_purge_all(queue, state, expected):
    check(queue, state, lambda queue, _: queue.purge(), expected)


def bury(queue, *names, reason="boom"):
    """Bury jobs one after the other, a second apart."""
    for name in names:
        queue.submit("t", {"of": name}, id=name)
        (claim,) = queue.claim("w")
        queue.fail(claim, reason, permanent=True)
        queue.redis.clock.advance(1)


def listed(queue, *args, **kwargs):
    return [letter.id for letter in queue.dead(*args, **kwargs)]


def test_what_a_letter_says(queue):
    queue.submit("mail", id="j")
    (claim,) = queue.claim("w")
    before = server_ms(queue.redis)
    queue.fail(claim, ValueError("no such address"), permanent=True)
    (letter,) = queue.dead()
    assert before <= letter.buried <= server_ms(queue.redis)
    assert (letter.id, letter.task, letter.replays, letter.last.outcome) == ("j", "mail", 0, "dead")
    assert (letter.last.error["type"], letter.last.error["message"]) == ("ValueError", "no such address")
    assert str(letter) == "mail j: attempt 1: dead (ValueError: no such address)"


def test_the_newest_first_and_in_pages(queue):
    bury(queue, *"abcde")
    assert listed(queue) == list("edcba")
    assert [listed(queue, 2, offset) for offset in (0, 2, 4, 6)] == [["e", "d"], ["c", "b"], ["a"], []]
    assert listed(queue, limit=1, offset=1) == ["d"]


def test_no_more_than_so_many(make_queue):
    queue = make_queue(dead_max=3)
    bury(queue, *"abcde")
    assert listed(queue) == list("edc")
    assert ids(queue) == list("cde")
    assert totals(queue) == {"submitted": 5, "dead": 5, "dropped": 2}


def test_none_at_all(make_queue):
    queue = make_queue(dead_max=0)
    bury(queue, "a", "b")
    assert (listed(queue), ids(queue)) == ([], [])
    assert totals(queue) == {"submitted": 2, "dead": 2, "dropped": 2}
    assert queue.submit("t", id="a").created


def test_many_buried_at_one_instant_are_bounded_too(make_queue):
    queue = make_queue(dead_max=2)
    queue.submit_many([New("t", id=name, max_attempts=1) for name in "hgfedcba"])
    queue.claim("w", 8)
    queue.redis.clock.advance(31)
    assert queue.recover() == (0, 8)
    assert len(listed(queue)) == 2
    assert ids(queue) == sorted(listed(queue))
    assert totals(queue)["dropped"] == 6


def test_not_longer_than_their_age(make_queue):
    queue = make_queue(dead_age=10)
    bury(queue, "a", "b")
    queue.redis.clock.advance(5)
    bury(queue, "c")
    queue.redis.clock.advance(5)
    bury(queue, "d")  # a burial drops what is too old, and so does tidying
    assert listed(queue) == ["d", "c"]
    queue.redis.clock.advance(5)
    queue.tidy()
    assert (listed(queue), totals(queue)["dropped"]) == (["d"], 3)
    queue.redis.clock.advance(10)
    queue.tidy()
    assert (listed(queue), ids(queue), totals(queue)["dropped"]) == ([], [], 4)


def test_those_older_than(queue):
    bury(queue, "a")
    queue.redis.clock.advance(100)
    bury(queue, "b")
    queue.redis.clock.advance(100)
    assert queue.purge(older_than=300) == 0
    assert queue.purge(older_than=150) == 1
    assert listed(queue) == ["b"]
    assert row(queue, "a") == "missing"
    assert queue.purge(older_than=0) == 1


@pytest.mark.parametrize("how", ["all", "named", "by age"])
def test_more_than_one_script_can_take(queue, how):
    names = [f"j{n}" for n in range(1001)]
    queue.submit_many([New("t", id=name, max_attempts=1) for name in names])
    for start in range(0, 1001, 501):
        queue.claim(f"w{start}", 501)
    queue.redis.clock.advance(31)
    while queue.recover(500) != (0, 0):
        pass
    queue.redis.clock.advance(5)
    assert levels(queue) == (0, 0, 0, 1001)
    dropped = {
        "all": queue.purge,
        "named": lambda: queue.purge(*names),
        "by age": lambda: queue.purge(older_than=1),
    }
    assert dropped[how]() == 1001
    assert (levels(queue), ids(queue)) == ((0, 0, 0, 0), [])


def test_some_named_and_some_unknown(queue):
    bury(queue, "a", "b", "c")
    queue.submit("t", id="live", delay=5)
    assert queue.purge("a", "nobody", "live", "c", "a") == 2
    assert listed(queue) == ["b"]
    assert row(queue, "live") == "scheduled 0/5"


def test_a_purged_id_can_be_used_anew(queue):
    bury(queue, "a")
    assert not queue.submit("t", id="a").created
    queue.purge("a")
    assert queue.submit("t", id="a").created


def test_listed_even_if_the_record_is_gone(queue):
    bury(queue, "a", "b")
    queue.redis.delete(queue.keys.job + "a")
    assert [(letter.id, letter.task, letter.last is None) for letter in queue.dead()] == [
        ("b", "t", False),
        ("a", "?", True),
    ]
    assert str(queue.dead()[1]) == "? a: its record is gone"
    assert queue.purge() == 2
    assert levels(queue) == (0, 0, 0, 0)
