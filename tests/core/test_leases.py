"""What is the leases' own: a visibility timeout for each job, that holds for whoever recovers."""

import pytest
from support.world import levels, row

from jobkit.clock import VirtualClock
from jobkit.errors import DelayError
from jobkit.queue import Queue
from jobkit.ready import Leases
from jobkit.submission import New
from jobkit.worker import Worker


@pytest.fixture
def store():
    return Leases()


def test_each_job_has_its_own_lease(queue):
    queue.submit_many([New("t", id="short", lease=5), New("t", id="long", lease=100), New("t", id="plain")])
    assert [claim.lease_ms for claim in queue.claim("w", 3)] == [5000, 100_000, None]
    states = []
    for seconds in (6, 25, 70):
        queue.redis.clock.advance(seconds)
        queue.recover()
        states.append([queue.get(id).state for id in ("short", "plain", "long")])
    assert states == [
        ["ready", "running", "running"],
        ["ready", "ready", "running"],
        ["ready", "ready", "ready"],
    ]


def test_a_heartbeat_renews_it_by_its_own_length(queue):
    queue.submit("t", id="j", lease=10)
    (claim,) = queue.claim("w")
    for _ in range(4):
        queue.redis.clock.advance(8)
        queue.extend(claim)
        assert queue.recover() == (0, 0)
    queue.redis.clock.advance(11)
    assert queue.recover() == (1, 0)


def test_it_stays_with_the_job_through_all_its_lives(queue):
    queue.submit("t", id="j", lease=5, delay=1)
    queue.redis.clock.advance(1)
    queue.promote()
    queue.fail(*queue.claim("w"), "boom", permanent=True)
    queue.requeue("j")
    queue.promote()
    (claim,) = queue.claim("w")
    assert (claim.lease_ms, queue.get("j").lease_ms) == (5000, 5000)
    queue.redis.clock.advance(6)
    assert queue.recover() == (1, 0)


@pytest.mark.parametrize("lease", [1, 1000])
def test_whoever_recovers_needs_not_know_the_lease(make_queue, lease):
    """The claim's deadline holds, whatever lease the one who recovers would have given."""
    queue, other = make_queue(lease=30), make_queue(lease=lease)
    queue.submit("t", id="j")
    queue.claim("w")
    queue.redis.clock.advance(20)
    assert other.recover() == (0, 0)
    queue.redis.clock.advance(11)
    assert other.recover() == (1, 0)


@pytest.mark.parametrize("wrong", [0, -1, 0.001, float("nan"), "5", True])
def test_what_is_no_lease(queue, wrong):
    with pytest.raises(DelayError, match="lease"):
        queue.submit("t", lease=wrong)
    assert queue.redis.dbsize() == 0


def test_a_worker_beats_as_often_as_the_shortest_lease_asks(fake):
    """Its handler works for many of its leases, beside a job that would be content with fewer beats."""
    queue = Queue(fake, "q", ready=Leases(), lease=30)
    worker, beats = Worker(queue, batch=2), []
    beat = worker.runner.heartbeat.beat
    worker.runner.heartbeat.beat = lambda: beats.append(queue.clock.now()) or beat()

    @worker.task
    def t(job):
        for _ in range(20):
            queue.clock.sleep(1)
            assert queue.recover() == (0, 0)
        assert not job.lost

    queue.submit_many([New("t", id="plain"), New("t", id="short", lease=3)])
    assert [outcome.became for outcome in worker.step()] == ["done", "done"]
    assert len(beats) >= 39
    assert isinstance(queue.clock, VirtualClock)


def test_a_job_that_is_lost_in_a_batch_comes_back_alone(queue):
    queue.submit_many([New("t", id=f"j{n}", lease=5 + n) for n in range(3)])
    queue.claim("w", 3)
    queue.redis.clock.advance(6.5)
    assert queue.recover() == (2, 0)
    assert levels(queue) == (0, 2, 1, 0)
    assert row(queue, "j2") == "running 1/5 #3 [running 1]"
    assert [len(queue.claim("x", 5)) for _ in range(3)] == [1, 1, 0]
