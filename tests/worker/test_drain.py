"""drain: from due time to due time, until nothing is left."""

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from support.keyspace import server_ms
from support.stores import lose
from support.world import levels, rows

from jobkit.backoff import Table
from jobkit.clock import Clock
from jobkit.errors import ConfigError
from jobkit.queue import Queue
from jobkit.ready import Streams
from jobkit.submission import New
from jobkit.worker import Worker


def test_it_runs_all_there_is_and_jumps_in_between(queue):
    worker, moments = Worker(queue, backoff=Table(100)), []

    @worker.task
    def t(job, fails=0):
        moments.append(round((server_ms(queue.redis) - job.created) / 1000))
        if job.attempt <= fails:
            raise ValueError

    queue.submit("t", delay=50)
    queue.submit("t", {"fails": 2}, delay=10)
    outcomes = worker.drain()
    assert [outcome.became for outcome in outcomes] == ["retry", "done", "retry", "done"]
    assert levels(queue) == (0, 0, 0, 0)
    if queue.redis.clock.virtual:
        assert moments == [10, 50, 110, 210]


def test_nothing_to_drain(queue):
    assert Worker(queue).drain() == []


def test_at_most_so_many(queue):
    worker = Worker(queue, batch=2)
    worker.task(name="t")(lambda job: None)
    queue.submit_many([New("t")] * 9)
    assert len(worker.drain(most=4)) == 4
    assert levels(queue) == (0, 5, 0, 0)


def test_it_waits_for_a_job_that_somebody_else_holds(queue):
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    queue.submit("t", id="j")
    queue.claim("crashed")
    (outcome,) = worker.drain()
    assert (outcome.id, outcome.attempt, outcome.became) == ("j", 2, "done")


def test_it_ends_when_all_is_cancelled(queue):
    worker = Worker(queue)
    queue.submit_many([New("t", id=id, delay=n) for n, id in enumerate("abc")])
    for id in "abc":
        queue.cancel(id)
    assert worker.drain() == []
    assert {said.partition(" ")[0] for said in rows(queue).values()} == {"cancelled"}


def test_where_time_cannot_be_moved(queue):
    worker = Worker(queue)
    queue.clock = Clock()
    queue.submit("t", delay=5)
    with pytest.raises(ConfigError, match=r"drain\(\) moves time"):
        worker.drain()


@pytest.mark.parametrize("verb", ["ack", "fail"])
def test_a_redis_that_is_gone_while_settling_costs_a_lease_not_the_job(queue, monkeypatch, verb):
    """No heartbeat goes on for what could not be settled: its lease runs out, and others have it."""
    worker = Worker(queue, backoff=Table(1))

    def gone(*_, **__):
        raise RedisConnectionError("gone")

    @worker.task
    def t(job):
        if job.attempt == 1:
            monkeypatch.setattr(queue, "each", gone)
            monkeypatch.setattr(queue, "fail", gone)
            if verb == "fail":
                raise ValueError

    queue.submit("t", id="j")
    with pytest.raises(RedisConnectionError):
        worker.step()
    monkeypatch.undo()
    assert worker.runner.heartbeat.held() == []
    queue.redis.clock.advance(31)
    (outcome,) = worker.step()
    assert (outcome.became, outcome.attempt) == ("done", 2)


def test_it_ends_though_somebody_trimmed_the_stream(redis):
    queue = Queue(redis, "q", ready=Streams())
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    queue.submit("t")
    queue.claim("crashed")
    queue.redis.xtrim(queue.keys.ready, maxlen=0)
    assert worker.drain() == []
    queue.repair()
    assert [outcome.became for outcome in worker.drain()] == ["done"]


def test_it_says_what_it_cannot_find(queue):
    """The ready store was deleted by hand: nothing is due, and that is not all there is to say."""
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    queue.submit_many([New("t")] * 3)
    queue.ack(*queue.claim("w"))
    lose(queue)
    outcomes = worker.drain()
    assert (outcomes, outcomes.lost, queue.counts().lost) == ([], 2, 2)
    hint = "2 jobs without a place in Redis: queue.repair() looks for such"
    assert repr(outcomes) == f"nothing is due\n{hint}"
    queue.submit("t", id="j")
    assert repr(worker.drain()) == f"t: done, attempt 1\n{hint}"
    queue.repair()
    outcomes = worker.drain()
    assert (len(outcomes), outcomes.lost) == (2, 0)
    assert "repair" not in repr(outcomes)


def test_a_dead_letter_that_is_on_no_list_is_lost_too(queue):
    queue.submit_many([New("t", max_attempts=1)] * 2)
    for claim in queue.claim("w", 2):
        queue.fail(claim, "boom")
    queue.redis.delete(queue.keys.dead)
    assert queue.counts().lost == Worker(queue).drain().lost == 2
    queue.repair()
    assert queue.counts().lost == 0
