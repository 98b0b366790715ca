"""Nothing grows with the jobs that are done, nor with the names of workers that came and went."""

from support.keyspace import weight
from support.stores import places
from support.world import levels

from jobkit.submission import New

NAMES = 50
ALL_TOTALS = {"submitted", "done", "retried", "dead", "dropped", "cancelled", "recovered", "released"}


def busy_day(queue, jobs):
    """Run jobs of every fate, ten at a time, by fifty workers; then let retention pass, and tidy."""
    clock = queue.redis.clock
    for first in range(0, jobs, 10):
        batch = range(first, first + 10)
        queue.submit_many([New("t", {"n": n % 10}, id=f"job-{n:05}", delay=n % 3) for n in batch])
        clock.advance(2)
        queue.promote()
        queue.cancel(f"job-{first:05}")
        for n in batch:
            for claim in queue.claim(f"worker-{n % NAMES:02}"):
                finish(queue, claim, int(claim.id[-1]))
        clock.advance(31)
        queue.promote()
        queue.recover()
        for n in batch:
            queue.each("ack", queue.claim(f"worker-{n % NAMES:02}", 5))
    queue.purge()
    clock.advance(3601)
    queue.tidy()


def finish(queue, claim, fate):
    """Settle a claim, in one way or another; fates 6 and 9 are crashes."""
    if fate in {1, 2}:
        queue.fail(claim, "boom", delay=1)
    elif fate == 3:
        queue.release(claim)
    elif fate == 4:
        queue.fail(claim, "boom", permanent=True)
    elif fate == 5:
        queue.cancel(claim.id)
        queue.fail(claim, "stopped")
    elif fate not in {6, 9}:
        queue.ack(claim)


def test_keys_and_bytes_after_50_and_after_450_jobs(make_queue, redis):
    """Totals and tokens are left out: their numbers may have a digit more."""
    weights = []
    for jobs in (50, 450):
        redis.flushall()
        queue = make_queue()
        busy_day(queue, jobs)
        assert queue.counts().totals["submitted"] == jobs
        assert queue.counts().totals.keys() == ALL_TOTALS
        redis.delete(queue.keys.totals, queue.keys.tokens)
        weights.append(weight(redis))
        assert not list(redis.scan_iter(match=b"*:job:*"))
        assert queue.counts().totals == {}
    (keys, size), (keys_later, size_later) = weights
    assert keys_later == keys
    slack = 400 if redis.server.product == "Valkey" else 40  # a table of Valkey's grows by 160 bytes once
    assert abs(size_later - size) < slack, "400 more jobs, and not the tenth of a byte for each"


def test_the_store_is_empty_when_all_is_done(queue):
    for _ in range(3):
        queue.submit_many([New("t") for _ in range(100)])
        while claims := queue.claim("w", 30):
            queue.each("ack", claims)
    assert not places(queue)
    assert levels(queue) == (0, 0, 0, 0)


def test_a_job_that_is_retried_for_ever_does_not_grow(queue):
    queue.submit("t", id="j", max_attempts=1000)
    sizes = []
    for n in range(60):
        queue.fail(*queue.claim("w"), "the same reason", delay=0)
        queue.promote()
        if n in {20, 59}:
            sizes.append(weight(queue.redis)[0])
            assert len(queue.redis.hgetall(queue.keys.job + "j")) < 40
    assert sizes[0] == sizes[1]
