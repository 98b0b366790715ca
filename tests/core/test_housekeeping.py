"""tidy and repair: what lies about, and what has lost its place."""

import pytest
from support.keyspace import dump
from support.seeds import ROWS, seed
from support.stores import lose, remove
from support.table import check, complete
from support.world import levels, row, rows, totals

from jobkit.submission import New

NOTHING = complete({}, otherwise=None)
FOUND = complete({}, otherwise=[])


@pytest.mark.parametrize(("state", "expected"), NOTHING)
def test_tidy_touches_no_job(queue, state, expected):
    check(queue, state, lambda queue, _: queue.tidy(idle=0), expected)


@pytest.mark.parametrize(("state", "expected"), FOUND)
def test_repair_touches_no_job_that_has_its_place(queue, state, expected):
    check(queue, state, lambda queue, _: queue.repair(), expected)


# -- what has lost its place ----------------------------------------------------------------------


@pytest.mark.parametrize("state", [state for state in ROWS if "ready 0" in ROWS[state]])
def test_a_ready_job_without_an_entry_is_ready_again(queue, state):
    seed(queue, state)
    lose(queue)
    assert queue.repair() == ["j"]
    assert row(queue).startswith(ROWS[state].rstrip("]"))
    assert levels(queue) == (0, 1, 0, 0)
    (claim,) = queue.claim("w")
    assert (claim.id, claim.attempt) == ("j", queue.get("j").attempt)
    assert queue.repair() == []
    queue.ack(claim)


@pytest.mark.parametrize("state", ["running", "running again", "late"])
def test_a_running_job_without_an_entry_is_ready_again_and_the_run_counts(queue, state):
    old = seed(queue, state)
    attempt = queue.get("j").attempt
    lose(queue)
    assert queue.repair() == ["j"]
    assert (queue.get("j").state, queue.get("j").attempt) == ("ready", attempt)
    assert queue.history("j")[-1].outcome == "recovered"
    with pytest.raises(Exception, match="refused"):
        queue.ack(old)
    assert [(claim.id, claim.attempt) for claim in queue.claim("w", 5)] == [("j", attempt + 1)]


def test_at_its_last_attempt_it_is_buried(queue):
    seed(queue, "last run")
    lose(queue)
    assert queue.repair() == ["j"]
    assert row(queue) == "dead 1/1 #1 [dead 1]"
    assert totals(queue) == {"submitted": 1, "dead": 1}


def test_if_it_was_asked_to_stop_it_is_cancelled(queue):
    seed(queue, "asked to stop")
    lose(queue)
    queue.repair()
    assert row(queue) == "cancelled 1/5 #1 [cancelled 1], expires"
    assert totals(queue) == {"submitted": 1, "cancelled": 1}


def test_a_record_that_waits_for_an_entry_that_is_gone_may_go(queue):
    queue.submit("t", id="j")
    queue.cancel("j")
    lose(queue)
    assert queue.repair() == []
    assert row(queue) == "cancelled 0/5, expires"


def test_a_scheduled_job_without_its_place_is_scheduled_again_and_never_too_early(queue):
    queue.submit("t", id="j", delay=100)
    queue.redis.delete(queue.keys.delayed)
    assert queue.repair() == ["j"]
    assert queue.repair() == []
    assert levels(queue) == (1, 0, 0, 0)
    queue.clock.advance(99)
    assert queue.promote().moved == 0
    queue.clock.advance(1)
    assert queue.promote().moved == 1


def test_a_dead_letter_without_its_place_is_listed_again(queue):
    queue.submit("t", id="j", max_attempts=1)
    queue.fail(*queue.claim("w"), "x")
    (letter,) = queue.dead()
    queue.redis.delete(queue.keys.dead)
    assert queue.repair() == ["j"]
    assert queue.repair() == []
    assert queue.dead() == [letter]


def test_all_kinds_at_once_and_only_what_is_lost(queue):
    queue.submit_many([New("t", id=f"r{n}") for n in range(3)])
    queue.submit_many([New("t", id=f"s{n}", delay=50) for n in range(3)])
    (held,) = queue.claim("w")
    queue.submit("t", id="dead")
    done, *_ = queue.claim("w")
    queue.ack(done)
    lose(queue)
    queue.submit("t", id="kept")
    (kept,) = queue.claim("w")
    assert sorted(queue.repair()) == ["dead", "r0", "r2"]
    assert (held.id, done.id, kept.id) == ("r0", "r1", "kept")
    assert {id: said.split()[0] for id, said in rows(queue).items()} == {
        "r0": "ready", "r1": "done", "r2": "ready", "dead": "ready", "kept": "running",
        "s0": "scheduled", "s1": "scheduled", "s2": "scheduled",
    }  # fmt: skip
    before = dump(queue.redis)
    assert queue.repair() == []
    assert dump(queue.redis) == before


def test_more_records_than_a_page(queue):
    queue.submit_many([New("t", id=f"j{n:04}") for n in range(1100)])
    queue.claim("w", 550)
    lost = [f"j{n:04}" for n in range(0, 1100, 50)]
    remove(queue, lost)
    assert sorted(queue.repair()) == lost
    assert levels(queue) == (0, 561, 539, 0)
    assert queue.repair() == []


def test_the_jobs_of_others_are_left_alone(make_queue):
    one, other = make_queue("one"), make_queue("one*")
    for queue in (one, other):
        queue.submit("t", id="j")
        lose(queue)
    assert other.repair() == ["j"]
    assert (levels(one), levels(other)) == ((0, 0, 0, 0), (0, 1, 0, 0))
    assert one.repair() == ["j"]


SUSPECTED = complete({"cancelled": b"cancelled", "stopped": b"cancelled"}, otherwise=b"kept")


@pytest.mark.parametrize(("state", "expected"), SUSPECTED)
def test_a_suspicion_that_is_out_of_date(queue, state, expected):
    """A job moves while the client reads: the script looks again, through all that came since the reading began."""

    def act(queue, _):
        return queue._scripts.call(queue.redis, "adopt", id="j", seen="0-0 0-0")

    check(queue, state, act, expected)
