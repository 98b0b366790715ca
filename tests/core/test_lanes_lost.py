"""A server forgets who is at the head, who waits, or a record: `repair` sets every lane going, in order."""

import pytest
from support.lane import claimed, lane, run_all, states
from support.stores import lose

IDS = [f"a{n}" for n in range(1, 7)]


def forget(queue, what):
    redis, keys = queue.redis, queue.keys
    if "lanes" in what:
        redis.delete(keys.lanes)
    if "waiting" in what:
        redis.delete(keys.waiting)
    if "head" in what:
        lose_records(queue, "a1")
    if "store" in what:
        lose(queue)


def lose_records(queue, *ids):
    """Delete records for good; the books are told, since `check_books` will ask."""
    queue.redis.delete(*(queue.keys.job + id for id in ids))
    queue.redis.hincrby(queue.keys.totals, "submitted", -len(ids))


@pytest.mark.parametrize(
    "what",
    ["lanes", "waiting", "head", "store", "lanes, waiting", "lanes, head", "waiting, head", "lanes, waiting, store"],
)
def test_repair_sets_a_lane_going_in_its_order(queue, what):
    lane(queue, *IDS)
    lane(queue, "b1", "b2", entity="bob")
    forget(queue, what)
    found = queue.repair()
    left = IDS[1:] if "head" in what else IDS
    assert queue.counts().waiting == len(left)  # and one of bob's
    assert states(queue, *left).split() == ["ready"] + ["waiting"] * (len(left) - 1)
    assert set(found) <= {*left, "b1", "b2"}
    assert queue.repair() == []
    order = run_all(queue)
    assert [id for id in order if id.startswith("a")] == left
    assert [id for id in order if id.startswith("b")] == ["b1", "b2"]


def test_the_books_tell_that_waiting_jobs_are_lost(queue):
    lane(queue, *IDS)
    queue.redis.delete(queue.keys.waiting)
    assert queue.counts().lost == 5
    assert sorted(queue.repair()) == IDS[1:]
    assert queue.counts().lost == 0


def test_a_lane_whose_head_runs_keeps_it(queue):
    lane(queue, "a1", "a2")
    (claim,) = queue.claim("w")
    forget(queue, "lanes, waiting")
    assert queue.repair() == ["a2"]
    assert states(queue, "a1", "a2") == "running waiting"
    assert claimed(queue) == []
    queue.ack(claim)
    assert run_all(queue) == ["a2"]


def test_a_lane_whose_head_nobody_remembers_goes_on_by_itself_when_it_ends(queue):
    lane(queue, "a1", "a2", "a3")
    (claim,) = queue.claim("w")
    forget(queue, "lanes")
    lane(queue, "a4")  # behind those who wait, though nobody knows of a head
    assert claimed(queue) == []
    queue.ack(claim)
    assert run_all(queue) == ["a2", "a3", "a4"]


def test_records_that_are_gone_do_not_stop_a_lane(queue):
    lane(queue, *IDS)
    (claim,) = queue.claim("w")
    lose_records(queue, *IDS[1:4])
    queue.ack(claim)
    assert run_all(queue) == IDS[4:]


def test_a_head_that_was_lost_before_its_time_waits_for_it(queue):
    lane(queue, "a1", delay=60)
    lane(queue, "a2")
    queue.redis.delete(queue.keys.delayed, queue.keys.lanes)
    assert queue.repair() == ["a1"]
    assert states(queue, "a1", "a2") == "scheduled waiting"
    queue.redis.clock.advance(60)
    assert run_all(queue) == ["a1", "a2"]


def test_who_was_forgotten_frees_nobody_elses_lane(queue):
    lane(queue, "a1")
    (claim,) = queue.claim("w")
    forget(queue, "lanes")
    assert lane(queue, "a2", "a3") == ["ready", "waiting"]  # nobody knows of a1 any more
    queue.ack(claim)
    assert states(queue, "a2", "a3") == "ready waiting"
    assert run_all(queue) == ["a2", "a3"]
