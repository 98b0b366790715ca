"""What is the streams' own: two entries of one job, as a racy promote or a hand makes them."""

import pytest
from support.world import levels, row

from jobkit.errors import StaleClaim
from jobkit.queue import Queue
from jobkit.ready import Streams
from jobkit.submission import New


@pytest.fixture
def twice(redis):
    """A job that lies in the stream twice, and was handed out twice: the newer claim holds."""
    queue = Queue(redis, "q", ready=Streams(), lease=30)
    queue.submit("t", id="j")
    redis.xadd(queue.keys.ready, {"id": "j"})
    (old,), (new,) = queue.claim("w1"), queue.claim("w2")
    return queue, old, new


def test_the_older_is_fenced(twice):
    queue, old, new = twice
    with pytest.raises(StaleClaim):
        queue.ack(old)
    queue.ack(new)
    assert row(queue) == "done 2/5 #2 [done 2], expires"


def test_the_lease_of_the_older_takes_nothing_from_the_newer(twice):
    queue, _, new = twice
    queue.redis.clock.advance(20)
    queue.extend(new)
    queue.redis.clock.advance(15)
    assert queue.recover() == (0, 0)
    assert row(queue) == "running 2/5 #2 [running 2]"
    assert levels(queue) == (0, 0, 1, 0)
    queue.ack(new)
    assert levels(queue) == (0, 0, 0, 0)


def test_after_the_end_the_other_entry_runs_nothing(redis):
    queue = Queue(redis, "q", ready=Streams(), lease=30)
    queue.submit("t", id="j")
    redis.xadd(queue.keys.ready, {"id": "j"})
    redis.xadd(queue.keys.ready, {"id": "nobody"})
    queue.ack(*queue.claim("w"))
    assert queue.claim("w", 5) == []
    assert levels(queue) == (0, 0, 0, 0)
    assert redis.xlen(queue.keys.ready) == 0


def test_ready_and_running_are_counted_from_both_streams(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(4)])
    queue.claim("w", 2)
    queue.redis.clock.advance(31)
    queue.recover()
    assert levels(queue) == (0, 4, 0, 0)
    queue.claim("w")
    queue.claim("w")
    queue.claim("w")
    assert levels(queue) == (0, 1, 3, 0)
