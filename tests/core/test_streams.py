"""What is the streams' own: two entries of one job, as a racy promote or a hand makes them."""

import pytest
from support.stores import forget_groups
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


# -- names of workers: a group remembers them --------------------------------------------------------


@pytest.fixture
def store():
    """The streams alone, for the queues below."""
    return Streams()


def names(queue):
    """The consumers that the store knows by name."""
    found = set()
    for stream in (queue.keys.ready, queue.keys.alone):
        if queue.redis.exists(stream):
            for group in queue.redis.xinfo_groups(stream):
                found |= {consumer["name"] for consumer in queue.redis.xinfo_consumers(stream, group["name"])}
    return found - {b"recover"}


def test_workers_that_are_gone_are_forgotten_but_not_one_that_holds_a_job(queue, eventually):
    for n in range(20):
        queue.submit("t", id=f"j{n}")
        (claim,) = queue.claim(f"pod-{n}")
        if n != 7:
            queue.ack(claim)
    assert len(names(queue)) == 20
    queue.tidy()  # they were here a moment ago
    assert len(names(queue)) == 20
    queue.redis.clock.advance(61)
    eventually(lambda: queue.tidy(idle=0) or names(queue) == {b"pod-7"})
    assert row(queue, "j7") == "running 1/5 #8 [running 1]"
    queue.recover()
    assert row(queue, "j7") == "ready 1/5 #8 [recovered 1]"


def test_a_worker_that_was_forgotten_just_comes_back(queue, eventually):
    queue.submit("t", id="a")
    queue.ack(*queue.claim("w"))
    eventually(lambda: queue.redis.clock.advance(1) or queue.tidy(idle=0) or not names(queue))
    queue.submit("t", id="b")
    assert [claim.id for claim in queue.claim("w")] == ["b"]


# -- a group that is gone: its entries are read anew --------------------------------------------------


def test_a_group_that_is_gone_is_made_anew_at_the_start(queue):
    queue.submit_many([New("t", id=id) for id in "abc"])
    queue.ack(*queue.claim("w"))
    forget_groups(queue)
    assert levels(queue) == (0, 2, 0, 0)
    assert [claim.id for claim in queue.claim("w", 5)] == ["b", "c"]


def test_a_running_job_whose_group_is_gone_is_handed_out_anew_and_fenced(queue):
    queue.submit("t", id="j")
    (old,) = queue.claim("w1")
    forget_groups(queue)
    (new,) = queue.claim("w2")
    assert (new.id, new.attempt) == ("j", 2)
    assert new.token > old.token
    with pytest.raises(StaleClaim):
        queue.ack(old)
    queue.ack(new)
    assert levels(queue) == (0, 0, 0, 0)


def test_a_running_job_whose_group_is_gone_is_not_handed_out_twice_after_a_repair(queue):
    queue.submit("t", id="j")
    queue.claim("w1")
    forget_groups(queue)
    queue.repair()
    claims = queue.claim("w2", 5) + queue.claim("w3", 5) + queue.claim("w4", 5)
    assert [claim.attempt for claim in claims] == [2]
    queue.ack(claims[0])
    assert queue.claim("w5", 5) == []
    assert levels(queue) == (0, 0, 0, 0)


@pytest.mark.parametrize("repair", [True, False])
def test_no_attempt_beyond_the_limit_when_a_group_is_gone(queue, repair):
    queue.submit("t", id="j", max_attempts=2)
    queue.claim("w1")
    for n in range(4):
        forget_groups(queue)
        if repair:
            queue.repair()
        for claim in queue.claim(f"w{n}", 5):
            assert claim.attempt <= 2
    queue.redis.clock.advance(31)
    queue.recover()
    assert row(queue).startswith("dead 2/2")
