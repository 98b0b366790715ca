"""recover: a lease that ran out is an attempt that counts; at the limit the job is buried."""

import pytest
from support.keyspace import dump
from support.table import Change, check, complete
from support.world import levels, row, rows, totals

from jobkit.answers import Recovered
from jobkit.submission import New

NOTHING = Recovered(0, 0)

RECOVER = complete(
    {
        "late": Change(Recovered(1, 0), "ready 1/5 #1 [recovered 1]", ("recovered",)),
        "late, last run": Change(Recovered(0, 1), "dead 1/1 #1 [dead 1]", ("dead",)),
        "late, asked to stop": Change(NOTHING, "cancelled 1/5 #1 [cancelled 1], expires", ("cancelled",)),
    },
    otherwise=NOTHING,
)


@pytest.mark.parametrize(("state", "expected"), RECOVER)
def test_recover(queue, state, expected):
    check(queue, state, lambda queue, _: queue.recover(), expected)


@pytest.mark.parametrize("renew", ["each third", "at the last moment"])
def test_a_lease_that_is_renewed_never_runs_out(queue, renew):
    queue.submit("t", id="j")
    (claim,) = queue.claim("w")
    for _ in range(5):
        queue.redis.clock.advance(10 if renew == "each third" else 25)
        assert queue.recover() == NOTHING
        queue.extend(claim)
    assert row(queue) == "running 1/5 #1 [running 1]"
    queue.redis.clock.advance(31)
    assert queue.recover() == (1, 0)


def test_only_the_late_ones(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(6)])
    early = queue.claim("w", 3)
    queue.redis.clock.advance(20)
    queue.claim("w", 3)
    queue.redis.clock.advance(15)
    queue.extend(early[1])
    assert queue.recover() == (2, 0)
    assert levels(queue) == (0, 2, 4, 0)
    assert [claim.id for claim in queue.claim("x")] == ["j0"]
    assert [claim.id for claim in queue.claim("x")] == ["j2"]


def test_at_most_the_limit(queue):
    queue.submit_many([New("t", id=f"j{n}", max_attempts=1 if n < 4 else 5) for n in range(9)])
    queue.claim("w", 9)
    queue.redis.clock.advance(31)
    assert [queue.recover(3) for _ in range(4)] == [(0, 3), (2, 1), (3, 0), (0, 0)]
    assert levels(queue) == (0, 5, 0, 4)


def test_settled_jobs_are_looked_past(queue):
    queue.submit_many([New("t", id=f"j{n:03}", max_attempts=1) for n in range(120)])
    claims = queue.claim("w", 120)
    for claim in claims[:110]:
        queue.cancel(claim.id)
    queue.redis.clock.advance(31)
    assert queue.recover(10) == (0, 10)
    assert levels(queue) == (0, 0, 0, 10)
    assert totals(queue)["cancelled"] == 110


def test_what_it_leaves_in_the_history(queue):
    queue.submit("t", id="j")
    queue.claim("worker 7")
    started = queue.history("j")[0].started
    queue.redis.clock.advance(45)
    queue.recover()
    (event,) = queue.history("j")
    assert (event.attempt, event.outcome, event.error["message"]) == (
        1,
        "recovered",
        "lease expired, held by worker 7",
    )
    assert event.ended - event.started == pytest.approx(45_000, abs=5000)
    assert abs(event.started + 45_000 - started) < 46_000


def test_a_lease_per_queue(make_queue, redis):
    short, long = make_queue("short", lease=1), make_queue("long", lease=100)
    for queue in (short, long):
        queue.submit("t", id="j")
        queue.claim("w")
    redis.clock.advance(2)
    assert (short.recover(), long.recover()) == ((1, 0), (0, 0))


# -- a job that kills its worker ----------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_a_poison_job_ends_after_as_many_kills_as_it_has_attempts(queue, limit):
    queue.submit("t", id="j", max_attempts=limit)
    kills = 0
    while claims := queue.claim(f"w{kills}"):
        kills += 1
        assert claims[0].attempt == kills
        queue.redis.clock.advance(31)
        queue.recover()
        assert kills <= limit
    assert kills == limit
    assert (
        row(queue)
        == f"dead {limit}/{limit} #{limit} [" + "".join(f"recovered {n}, " for n in range(1, limit)) + f"dead {limit}]"
    )


def test_a_poison_job_first_in_a_batch_takes_no_other_along(queue):
    queue.submit_many([New("t", id="poison")] + [New("t", id=f"good{n}") for n in range(99)])
    ran, kills = set(), 0
    for _ in range(300):
        claims = queue.claim(f"w{kills}", 100)
        if "poison" in [claim.id for claim in claims]:
            kills += 1  # the process is gone: nothing of this batch is settled, no heartbeat comes
            queue.redis.clock.advance(31)
        for claim in claims if "poison" not in [claim.id for claim in claims] else []:
            queue.ack(claim)
            ran.add(claim.id)
        queue.recover()
    assert kills == 5
    assert len(ran) == 99
    assert [letter.id for letter in queue.dead()] == ["poison"]
    assert row(queue, "poison").startswith("dead 5/5")
    assert levels(queue) == (0, 0, 0, 1)


def test_a_recovered_job_is_handed_out_alone(queue):
    queue.submit_many([New("t", id=f"s{n}") for n in range(3)])
    queue.claim("w", 3)
    queue.redis.clock.advance(31)
    queue.recover()
    queue.submit_many([New("t", id=f"j{n}") for n in range(3)])
    batches = [[claim.id for claim in queue.claim("w", 10)] for _ in range(5)]
    assert [batch for batch in batches if any(id.startswith("s") for id in batch)] == [["s0"], ["s1"], ["s2"]]
    assert sorted(id for batch in batches for id in batch) == ["j0", "j1", "j2", "s0", "s1", "s2"]


def test_a_released_or_failed_job_is_no_suspect(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(4)])
    for claim in queue.claim("w", 4):
        queue.release(claim) if claim.id < "j2" else queue.fail(claim, "x")
    queue.promote()
    assert len(queue.claim("w", 10)) == 4


# -- what is not there --------------------------------------------------------------------------


def test_nothing_to_recover(queue):
    assert queue.recover() == NOTHING
    queue.submit("t")
    before = dump(queue.redis)
    assert queue.recover() == NOTHING
    assert dump(queue.redis) == before


def test_a_running_job_whose_record_was_evicted(queue):
    queue.submit("t", id="gone")
    queue.submit("t", id="kept")
    queue.claim("w", 2)
    queue.redis.delete(queue.keys.job + "gone")
    queue.redis.hincrby(queue.keys.totals, "submitted", -1)
    queue.redis.clock.advance(31)
    assert queue.recover() == (1, 0)
    assert rows(queue) == {"kept": "ready 1/5 #2 [recovered 1]"}
    assert levels(queue) == (0, 1, 0, 0)
