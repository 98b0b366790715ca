"""A worker and a scheduler of a sharded queue: all shards at once, and none waits for another."""

import signal
import threading
from random import Random

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import ResponseError
from support.world import levels

from jobkit.backoff import Table
from jobkit.errors import ConfigError
from jobkit.scheduler import Scheduler
from jobkit.shards import ShardedQueue
from jobkit.sidebyside import side_by_side
from jobkit.submission import New
from jobkit.worker import Worker

N = 3


@pytest.fixture
def queue(redis):
    return ShardedQueue(redis, "q", shards=N)


@pytest.fixture
def running(ticking):
    return ShardedQueue(ticking, "q", shards=N)


def ids_of(queue, k, n=3):
    """Return some ids of a shard."""
    return [id for id in map("job-{}".format, range(100)) if queue.of(id) is queue.shards[k]][:n]


def spoil(queue, k):
    """Let every claim of a shard fail, as on a server that is gone: its stream is a string."""
    queue.redis.set(queue.shards[k].keys.ready, "no stream")


def recorder(worker, ran):
    @worker.task
    def t(job):
        ran.append(job.id)

    return worker


def test_a_step_is_a_step_in_each_shard(queue):
    ran = []
    worker = recorder(Worker(queue, name="w"), ran)
    wanted = [ids_of(queue, k, 1)[0] for k in range(N)]
    queue.submit_many([New("t", id=id) for id in wanted])
    queue.submit("t", delay=5)
    runs = worker.step()
    assert [run.id for run in runs] == wanted == ran
    assert 4 < runs.wait <= 5
    assert worker.step() == []


def test_a_claim_passes_over_a_shard_that_is_away(queue, monkeypatch):
    wanted = [ids_of(queue, k, 1)[0] for k in range(N)]
    queue.submit_many([New("t", id=id) for id in wanted])

    def away(*_):
        raise RedisConnectionError("away")

    monkeypatch.setattr(queue.shards[1], "claim", away)
    assert sorted(claim.id for claim in queue.claim("w", 3)) == sorted([wanted[0], wanted[2]])
    for part in queue.shards:
        monkeypatch.setattr(part, "claim", away)
    with pytest.raises(RedisConnectionError):
        queue.claim("w", 3)


def test_a_shard_that_is_away_does_not_keep_others_from_promoting_and_recovering(queue, monkeypatch):
    def away(*_):
        raise RedisConnectionError("away")

    queue.submit_many([New("t", id=ids_of(queue, k, 1)[0], delay=5) for k in range(N)])
    queue.redis.clock.advance(5)
    for verb in ("promote", "recover"):
        monkeypatch.setattr(queue.shards[0], verb, away)
    assert queue.promote().moved == N - 1
    assert len(queue.claim("w", N)) == N - 1
    queue.redis.clock.advance(31)
    assert queue.recover().ready == N - 1


def test_an_interrupt_stops_the_threads_of_all_shards():
    stopping, ended, both = threading.Event(), [], threading.Barrier(2)

    def work():
        if both.wait() == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)  # Ctrl-C
        ended.append(stopping.wait(20))

    with pytest.raises(KeyboardInterrupt):
        side_by_side([work, work], stopping.set)
    assert ended == [True, True]


def test_drain_goes_from_due_time_to_due_time_in_all_shards(queue):
    worker = Worker(queue, backoff=Table(5, 30), batch=2, rng=Random(1))

    @worker.task
    def t(job):
        if job.attempt == 1:
            raise ValueError("the first time")

    queue.submit_many([New("t", delay=n % 4) for n in range(20)])
    queue.submit_many([New("t", entity=f"e{n % 3}") for n in range(9)])
    assert len(worker.drain()) == 58
    assert queue.counts().totals["done"] == 29
    assert levels(queue) == (0, 0, 0, 0)


def test_a_shard_that_is_away_does_not_stop_a_step(queue, caplog):
    ran = []
    worker, scheduler = recorder(Worker(queue), ran), Scheduler(queue)
    queue.submit_many([New("t", id=id) for k in range(N) for id in ids_of(queue, k, 1)])
    spoil(queue, 1)
    assert [run.id for run in worker.step()] == ran == [ids_of(queue, k, 1)[0] for k in (0, 2)]
    assert "the other shards go on" in caplog.text
    queue.redis.set(queue.shards[2].keys.delayed, "no set")
    assert scheduler.tick().promoted == 0
    for k in range(N):
        queue.redis.set(queue.shards[k].keys.ready, "no stream")
        queue.redis.set(queue.shards[k].keys.delayed, "no set")
    for act in (worker.step, scheduler.tick):
        with pytest.raises(ResponseError, match="WRONGTYPE"):
            act()
    queue.redis.flushall()


def test_shards_are_drained_in_parallel(running, background, eventually):
    """Each handler waits until one of every shard is at work: one after the other, none would ever end."""
    meet, ran = threading.Barrier(N, timeout=20), []
    worker = Worker(running)

    @worker.task
    def t(job):
        meet.wait()
        ran.append(job.id)

    running.submit_many([New("t", id=id) for k in range(N) for id in ids_of(running, k)])
    background(worker)
    eventually(lambda: len(ran) == 3 * N, within=20)


def test_a_shard_whose_handlers_hang_or_whose_store_is_gone_stops_no_other(running, background, eventually):
    free, ran = threading.Event(), []
    worker = Worker(running, grace=1)
    slow, *_ = ids_of(running, 0)

    @worker.task
    def t(job):
        if job.id == slow:
            free.wait(20)
        ran.append(job.id)

    spoil(running, 1)
    running.submit("t", id=slow)
    try:
        background(worker)
        running.submit_many([New("t", id=id, delay=0.01) for id in ids_of(running, 2)])
        eventually(lambda: sorted(ran) == sorted(ids_of(running, 2)), within=20)
    finally:
        free.set()
    running.redis.delete(running.shards[1].keys.ready)
    running.submit_many([New("t", id=id) for id in ids_of(running, 1)])
    eventually(lambda: len(ran) == 7, within=20)


def test_no_shard_starves_behind_a_full_one(running, background, eventually):
    ran = []
    worker = recorder(Worker(running), ran)
    full = [New("t", id=id) for id in map("job-{}".format, range(2000)) if running.of(id) is running.shards[0]]
    (other,) = ids_of(running, 2, 1)
    running.submit_many([*full, New("t", id=other)])
    background(worker)
    eventually(lambda: other in ran, within=20)
    assert len(ran) < len(full)


@pytest.mark.parametrize("own", [True, False])
def test_a_scheduler_of_all_shards(running, background, eventually, own):
    scheduler = Scheduler(running)
    worker = Worker(running, scheduler=scheduler if own else None)
    ran = []
    recorder(worker, ran)
    if not own:
        background(scheduler)
    background(worker)
    running.submit_many([New("t", id=f"job-{n}", delay=0.02) for n in range(12)])
    eventually(lambda: len(ran) == 12, within=20)


def test_a_worker_whose_layout_is_another_ends_with_the_reason(running):
    running.submit("t")
    wrong = ShardedQueue(running.redis, "q", shards=5)
    for looper in (Worker(wrong), Scheduler(wrong)):
        with pytest.raises(ConfigError, match="3 shards"):
            looper.run()


def test_names_tasks_and_journal_are_those_of_all_shards(queue):
    worker, seen = Worker(queue, name="old"), []
    recorder(worker, [])
    worker.rename("new")
    worker.watch(lambda what, job: seen.append((what, job.worker)))
    queue.submit_many([New("t", id=id) for k in range(N) for id in ids_of(queue, k, 1)])
    worker.step()
    assert seen == [("start", "new"), ("end", "new")] * N
    assert not worker.hung
    worker.parts[2].runner.hung = True
    assert worker.hung


@pytest.mark.parametrize("wrong", [None, "q", 3])
def test_what_is_no_queue(wrong):
    for looper in (Worker, Scheduler):
        with pytest.raises(ConfigError, match="Queue"):
            looper(wrong)


def test_on_a_virtual_clock_nobody_runs(fake):
    with pytest.raises(ConfigError, match="virtual"):
        Worker(ShardedQueue(fake, "q", shards=2)).run()
    with pytest.raises(ConfigError, match="virtual"):
        Scheduler(ShardedQueue(fake, "q", shards=2)).run()
