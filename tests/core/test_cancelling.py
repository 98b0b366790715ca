"""cancel in every state; a job that was ready is skipped by the next claim, and its id is taken until then."""

import pytest
from support.table import Change, check, complete
from support.world import levels, row, rows, totals

from jobkit.submission import New

CANCEL = complete(
    {
        "missing": "UnknownJob",
        "scheduled": Change("cancelled", "cancelled 0/5, expires", ("cancelled",)),
        "due": Change("cancelled", "cancelled 0/5, expires", ("cancelled",)),
        "ready": Change("cancelled", "cancelled 0/5", ("cancelled",)),
        "promoted": Change("cancelled", "cancelled 0/5", ("cancelled",)),
        "released": Change("cancelled", "cancelled 0/5 #1 [released 1]", ("cancelled",)),
        "recovered": Change("cancelled", "cancelled 1/5 #1 [recovered 1]", ("cancelled",)),
        "submitted anew": Change("cancelled", "cancelled 0/5", ("cancelled",)),
        "waiting for retry": Change("cancelled", "cancelled 1/5 #1 [retry 1], expires", ("cancelled",)),
        "due for retry": Change("cancelled", "cancelled 1/5 #1 [retry 1], expires", ("cancelled",)),
        "requeued": Change("cancelled", "cancelled 0/5 #1 [dead 1, requeued 0], expires", ("cancelled",)),
        "running": Change("requested", "running 1/5 #1 [running 1]"),
        "running again": Change("requested", "running 2/5 #2 [recovered 1, running 2]"),
        "last run": Change("requested", "running 1/1 #1 [running 1]"),
        "late": Change("requested", "running 1/5 #1 [running 1]"),
        "late, last run": Change("requested", "running 1/1 #1 [running 1]"),
        "asked to stop": "requested",
        "late, asked to stop": "requested",
        "cancelled": "cancelled",
        "cancelled while ready": "cancelled",
        "stopped": "cancelled",
    },
    otherwise="WrongState",
)


@pytest.mark.parametrize(("state", "expected"), CANCEL)
def test_cancel(queue, state, expected):
    check(queue, state, lambda queue, _: queue.cancel("j"), expected)


@pytest.mark.parametrize("way", ["ready", "promoted", "released", "recovered"])
def test_a_cancelled_job_never_runs(queue, way):
    queue.submit("t", id="j", delay=5 if way == "promoted" else 0)
    queue.redis.clock.advance(5)
    queue.promote()
    if way in {"released", "recovered"}:
        (claim,) = queue.claim("w")
        if way == "released":
            queue.release(claim)
        queue.redis.clock.advance(31)
        queue.recover()
    queue.cancel("j")
    assert levels(queue) == (0, 1, 0, 0)  # until a claim skips it
    assert queue.claim("w", 10) == []
    assert levels(queue) == (0, 0, 0, 0)
    assert row(queue).startswith("cancelled")
    assert totals(queue)["cancelled"] == 1


def test_a_scheduled_job_never_becomes_ready(queue):
    queue.submit("t", id="j", delay=5)
    queue.cancel("j")
    queue.redis.clock.advance(6)
    assert queue.promote() == (0, None)
    assert queue.claim("w") == []


def test_its_id_is_taken_until_a_claim_has_skipped_it_and_its_retention_is_over(queue):
    queue.submit("t", id="j")
    queue.cancel("j")
    queue.redis.clock.advance(3 * 3600)
    assert queue.submit("t", {"new": 1}, id="j") == ("j", False, "cancelled")
    assert queue.claim("w") == []
    assert queue.submit("t", {"new": 1}, id="j") == ("j", False, "cancelled")
    queue.redis.clock.advance(3601)
    assert row(queue) == "missing"
    assert queue.submit("t", {"new": 1}, id="j") == ("j", True, "ready")
    assert [claim.args for claim in queue.claim("w", 5)] == [{"new": 1}]


def test_the_id_of_a_cancelled_scheduled_job_is_free_after_its_retention(queue):
    queue.submit("t", id="j", delay=10 * 3600)
    queue.cancel("j")
    queue.redis.clock.advance(3580)
    assert not queue.submit("t", id="j").created
    queue.redis.clock.advance(21)
    assert queue.submit("t", id="j", delay=9).created
    assert levels(queue) == (1, 0, 0, 0)


@pytest.mark.parametrize("limit", [1, 10])
def test_one_claim_finds_what_is_behind_cancelled_jobs(queue, limit):
    queue.submit_many([New("t", id=f"j{n:02}") for n in range(30)])
    for n in range(25):
        queue.cancel(f"j{n:02}")
    assert queue.claim("w", limit)[0].id == "j25"


def test_a_cancelled_suspect_does_not_hide_the_others(queue):
    queue.submit("t", id="poison")
    queue.claim("w")
    queue.redis.clock.advance(31)
    queue.recover()
    queue.cancel("poison")
    queue.submit("t", id="good")
    assert [claim.id for claim in queue.claim("w", 5)] == ["good"]


@pytest.mark.parametrize(
    ("end", "becomes"),
    [
        ("ack", "done 1/5 #1 [done 1], expires"),
        ("fail", "cancelled 1/5 #1 [cancelled 1], expires"),
        ("release", "cancelled 0/5 #1 [released 1], expires"),
        ("recover", "cancelled 1/5 #1 [cancelled 1], expires"),
    ],
)
def test_a_running_job_is_asked_and_then(queue, end, becomes):
    queue.submit("t", id="j")
    (claim,) = queue.claim("w")
    assert queue.extend(claim) is False
    assert queue.cancel("j") == "requested"
    assert queue.extend(claim) is True
    if end == "recover":
        queue.redis.clock.advance(31)
        assert queue.recover() == (0, 0)
    else:
        getattr(queue, end)(*([claim, "boom"] if end == "fail" else [claim]))
    assert rows(queue) == {"j": becomes}
    assert queue.claim("w") == []
    assert levels(queue) == (0, 0, 0, 0)


def test_a_requeued_job_forgets_that_it_was_asked_to_stop(queue):
    queue.submit("t", id="j", max_attempts=1)
    (claim,) = queue.claim("w")
    queue.fail(claim, "x")
    queue.requeue("j")
    queue.promote()
    (claim,) = queue.claim("w")
    assert queue.extend(claim) is False
    assert queue.fail(claim, "x") == "dead"
