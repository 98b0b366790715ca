"""What `stats` measures: ages from the structures, lateness from what the claims wrote down."""

import math

import pytest

from jobkit.errors import ConfigError
from jobkit.queue import Queue
from jobkit.ready import Leases, Lists, Streams
from jobkit.submission import New

AROUND = 5.0
"""Seconds that a real server may be slower than the moments of a test: they are minutes apart."""


def late(queue):
    """The lateness of all starts so far, as {bound: starts}, empty buckets left out."""
    return {bound: n for bound, n in queue.stats().lateness.buckets.items() if n}


def test_it_counts_as_counts_does(queue):
    queue.submit_many([New("t", delay=60 * n, id=f"j{n}") for n in range(4)])
    queue.claim("w")
    queue.cancel("j3")
    queue.submit_many([New("t", entity="e")] * 2)
    counts, stats = queue.counts(), queue.stats()
    for name in ("scheduled", "waiting", "ready", "running", "dead", "totals", "lost"):
        assert getattr(stats, name) == getattr(counts, name)
    assert stats.queue == "q"


def test_an_empty_queue_has_no_ages(queue):
    stats = queue.stats()
    assert (stats.overdue, stats.oldest_ready, stats.oldest_dead, stats.oldest_due) == (None, None, None, None)
    assert (stats.wait, stats.lateness.count, stats.lateness.mean) == (None, 0, None)
    assert queue.redis.dbsize() == 0


def test_what_is_due_and_not_promoted_is_overdue(queue):
    queue.submit("t", delay=100)
    assert queue.stats().overdue is None
    queue.clock.advance(160)
    assert queue.stats().overdue == pytest.approx(60, abs=AROUND)
    assert queue.stats().oldest_ready is None
    queue.promote()
    stats = queue.stats()
    assert stats.overdue is None
    assert stats.oldest_ready == stats.oldest_due == pytest.approx(60, abs=AROUND)
    queue.claim("w")
    assert queue.stats().oldest_due is None


def test_what_is_next_counts_and_not_what_a_claim_will_skip(queue):
    queue.submit("t", id="cancelled")
    queue.clock.advance(600)
    queue.submit("t", id="gone")
    queue.submit("t", id="first")
    queue.cancel("cancelled")
    queue.redis.delete(queue.keys.job + "gone")
    queue.redis.hincrby(queue.keys.totals, "submitted", -1)  # of the one that is gone
    queue.clock.advance(60)
    assert queue.stats().oldest_ready == pytest.approx(60, abs=AROUND)
    assert [claim.id for claim in queue.claim("w")] == ["first"]


def test_what_runs_does_not_wait(queue):
    """However many run: a look at the head of a line is a look behind them."""
    queue.submit_many([New("t")] * 150)
    queue.clock.advance(100)
    queue.submit("t")
    assert len(queue.claim("w", 150)) == 150
    queue.clock.advance(100)
    assert queue.stats().oldest_ready == pytest.approx(100, abs=AROUND)


def test_a_low_priority_that_starves_shows(make_queue):
    queue = make_queue(ready=Lists())
    queue.submit("t", priority=0)
    queue.clock.advance(900)
    queue.submit_many([New("t", priority=9)] * 2)
    queue.claim("w")
    assert queue.stats().oldest_ready == pytest.approx(900, abs=AROUND)


def test_what_was_recovered_is_as_old_as_its_moment(queue):
    queue.submit("t")
    queue.claim("w")
    queue.clock.advance(300)
    queue.recover()
    assert queue.stats().oldest_ready == pytest.approx(300, abs=AROUND)


def test_the_oldest_dead_letter(queue):
    for id in ("a", "b"):
        queue.submit("t", id=id)
        queue.fail(*queue.claim("w"), "x", permanent=True)
        queue.clock.advance(100)
    assert queue.stats().oldest_dead == pytest.approx(200, abs=AROUND)


def test_a_start_is_late_by_what_has_passed_since_it_was_due(queue):
    queue.submit_many([New("t", delay=delay) for delay in (10, 20, 30)])
    queue.clock.advance(40)
    queue.promote()
    assert len(queue.claim("w", 3)) == 3
    assert late(queue) in ({10: 1, 30: 2}, {30: 2, 60: 1})  # 10, 20 and 30 s, and what a real server took
    assert queue.stats().lateness.seconds == pytest.approx(60, abs=AROUND)


@pytest.mark.parametrize(
    ("ms", "bound"), [(0, 0.005), (5, 0.005), (6, 0.01), (10, 0.01), (60_000, 60), (60_001, 600), (9e7, math.inf)]
)
def test_the_bounds_of_the_buckets(fake, ms, bound):
    queue = Queue(fake, "q")
    queue.submit("t")
    queue.clock.advance(ms / 1000)
    queue.claim("w")
    assert late(queue) == {bound: 1}
    assert queue.stats().lateness.seconds == ms / 1000


def test_a_moment_that_had_passed_when_it_was_submitted_means_then(fake):
    queue = Queue(fake, "q")
    queue.submit("t", delay=-3600)
    queue.claim("w")
    assert queue.stats().lateness.seconds == 0


def test_it_counts_once_for_each_time_that_a_job_is_due(make_queue, redis):
    """A retry and a requeue are due anew. What is recovered or given back was on time before."""
    queue = make_queue(max_attempts=3)
    queue.submit("t", id="j")
    (claim,) = queue.claim("w")
    starts = [queue.stats().lateness.count]
    for act in (
        queue.release,
        lambda _: (queue.clock.advance(300), queue.recover()),
        lambda claim: (queue.fail(claim, "x", delay=60), queue.clock.advance(61), queue.promote()),
        lambda claim: (queue.fail(claim, "x"), queue.requeue("j", over=0), queue.clock.advance(1), queue.promote()),
    ):
        act(claim)
        (claim,) = queue.claim("w")
        starts.append(queue.stats().lateness.count)
    assert starts == [1, 1, 1, 2, 3]


def test_jobs_that_a_lesson_made_by_hand_are_not_counted(fake):
    queue = Queue(fake, "q", take=lambda redis, keys, limit: ["by hand"])
    fake.hset(queue.keys.job + "by hand", mapping={"task": "t", "args": "{}"})
    with pytest.raises(TypeError):  # its record has no moments, which a Claim tells
        queue.claim("w")
    assert queue.stats().lateness.count == 0


@pytest.mark.parametrize("act", [Queue.stats, lambda queue: queue.ack_and_claim([], "w")], ids=["stats", "claim"])
def test_another_store_is_said(redis, act):
    Queue(redis, "q", ready=Leases()).submit("t")
    with pytest.raises(ConfigError, match="is leases, and not streams"):
        act(Queue(redis, "q", ready=Streams()))


def test_another_store_is_said_by_several_verbs_at_once(redis):
    """An ack and a claim in one step: the claim's error comes as one answer of two."""
    queue = Queue(redis, "q", ready=Leases())
    queue.submit("t")
    done = queue.claim("w")
    with pytest.raises(ConfigError, match="is leases, and not streams"):
        Queue(redis, "q", ready=Streams()).ack_and_claim(done, "w")
