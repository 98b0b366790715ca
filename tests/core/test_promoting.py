"""promote: due -> ready."""

import pytest
from support.keyspace import dump
from support.stores import put
from support.table import Change, check, complete
from support.world import levels, row

from jobkit.queue import Queue
from jobkit.submission import New

PROMOTE = complete(
    {
        "scheduled": (0, True),
        "due": Change((1, False), "ready 0/5"),
        "due for retry": Change((1, False), "ready 1/5 #1 [retry 1]"),
        "requeued": Change((1, False), "ready 0/5 #1 [dead 1, requeued 0]"),
        "waiting for retry": (0, True),
    },
    otherwise=(0, False),
)


@pytest.mark.parametrize(("state", "expected"), PROMOTE)
def test_promote(queue, state, expected):
    def act(queue, _):
        moved, wait = queue.promote()
        return moved, wait is not None

    check(queue, state, act, expected)


def test_the_earliest_first_and_never_too_early(queue):
    queue.submit_many([New("t", id=f"j{n}", delay=100 * n) for n in (3, 1, 2)])
    assert queue.promote().moved == 0
    queue.redis.clock.advance(200)
    assert queue.promote().moved == 2
    assert [claim.id for claim in queue.claim("w", 5)] == ["j1", "j2"]
    queue.redis.clock.advance(100)
    assert queue.promote() == (1, None)
    assert [claim.id for claim in queue.claim("w", 5)] == ["j3"]


def test_to_the_millisecond(fake, store):
    queue = Queue(fake, "q", ready=store)
    queue.submit("t", id="j", delay=5)
    fake.clock.advance(4.999)
    assert queue.promote() == (0, 0.001)
    fake.clock.advance(0.001)
    assert queue.promote() == (1, None)


def test_at_most_the_limit(queue):
    queue.submit_many([New("t", delay=1)] * 7)
    queue.redis.clock.advance(1)
    assert [queue.promote(3).moved for _ in range(4)] == [3, 3, 1, 0]
    assert levels(queue) == (0, 7, 0, 0)


def test_it_says_how_long_until_the_next(queue):
    queue.submit_many([New("t", delay=40), New("t", delay=30)])
    moved, wait = queue.promote()
    assert (moved, wait) == (0, pytest.approx(30, abs=2))
    queue.redis.clock.advance(35)
    moved, wait = queue.promote()
    assert (moved, wait) == (1, pytest.approx(5, abs=2))


def test_it_says_zero_when_more_is_due_already(queue):
    queue.submit_many([New("t", delay=1)] * 2)
    queue.redis.clock.advance(5)
    assert queue.promote(1) == (1, 0)


def test_a_job_whose_record_was_evicted_is_no_job(queue):
    queue.submit("t", id="j", delay=1)
    queue.redis.delete(queue.keys.job + "j")
    queue.redis.clock.advance(1)
    assert queue.promote().moved == 1
    assert queue.claim("w") == []
    assert levels(queue) == (0, 0, 0, 0)
    queue.submit("t", id="j")
    queue.redis.hincrby(queue.keys.totals, "submitted", -1)  # of the one that is gone


def test_a_piece_of_ones_own(make_queue, redis):
    def newest_first(client, keys, limit):
        ids = client.zrange(keys.delayed, 0, limit - 1, desc=True)
        for id in ids:
            client.zrem(keys.delayed, id)
            put(client, plain, id)
        return ids

    plain = make_queue()
    queue = make_queue(promote=newest_first)
    queue.submit_many([New("t", id=f"j{n}", delay=100 * (n + 1)) for n in range(3)])
    assert queue.promote(2).moved == 2
    assert [claim.id for claim in queue.claim("w", 5)] == ["j2", "j1"]
    before = dump(redis)
    redis.clock.advance(0)
    assert row(queue, "j0") == "scheduled 0/5"
    assert dump(redis) == before
