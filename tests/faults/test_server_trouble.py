"""A server that is killed, cuts its clients off, or deafens the bell, while a worker runs in its loop."""

import contextlib
import threading

import pytest
import redis as redis_py
from support import stores
from support.operations import check_copies

from jobkit.backoff import Table
from jobkit.bell import FLOOR
from jobkit.connect import PrivateServer
from jobkit.once import effect_key, once
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker

pytestmark = pytest.mark.live_only(reason="the fake has no process to kill, nor CLIENT KILL")
JOBS = 40


@pytest.fixture(scope="module")
def server(live_server):
    """A server of its own, which keeps all it was told on disk."""
    with PrivateServer(appendonly=True) as server:
        yield server


@pytest.fixture
def queue(server, store):
    with server.client() as redis:
        redis.flushall()
        yield Queue(redis, "q", ready=store, lease=1, max_attempts=50)


@contextlib.contextmanager
def at_work(looper, **settings):
    """Let something with `run` and `stop` run in a thread."""
    thread = threading.Thread(target=looper.run, kwargs=settings)
    thread.start()
    try:
        yield thread
    finally:
        looper.stop()
        thread.join(20)
        assert not thread.is_alive()


def counter(queue):
    """Return a worker whose handler has one effect per job."""
    worker = Worker(queue, backoff=Table(0.02))
    worker.task(name="t")(lambda job: once(queue, job, ("INCR", effect_key(queue, job.id))))
    return worker


def done(queue):
    """Return how many jobs are done, asked until the server answers."""
    while True:
        with contextlib.suppress(redis_py.ConnectionError, redis_py.TimeoutError):
            return queue.counts().totals.get("done", 0)


def disturb(queue, eventually, trouble, times):
    """Make trouble again and again while jobs are run; then each must be done, with its effect once."""
    worker, each = counter(queue), JOBS // times
    with at_work(worker, threads=2):
        for n in range(times):
            queue.submit_many(New("t", id=f"{n}-{i}", delay=(i % 3) / 20) for i in range(each))
            eventually(lambda n=n: done(queue) > n * each, within=20)  # some of these are being run now
            trouble()
        eventually(lambda: done(queue) == times * each, within=30)
    check_copies(queue)
    effects = [queue.redis.get(effect_key(queue, f"{n}-{i}")) for n in range(times) for i in range(each)]
    assert effects == [b"1"] * len(effects)


def test_killed_and_started_again(server, queue, eventually):
    disturb(queue, eventually, server.restart, times=3)


def test_all_clients_cut_off_and_all_scripts_forgotten(queue, eventually):
    def cut_off():
        queue.redis.script_flush()
        assert queue.redis.client_kill_filter(_type="normal") > 0

    disturb(queue, eventually, cut_off, times=10)


@pytest.mark.parametrize("what", ["all", "holders"])
def test_its_ready_store_or_its_holders_deleted(queue, eventually, what):
    """A repair finds what fell out; whoever ran it at that moment is too late."""

    def forget():
        stores.forget(queue, what)
        queue.repair()

    disturb(queue, eventually, forget, times=8)


@pytest.mark.parametrize("delay", [0, 0.3])
def test_a_bell_that_is_cut_off_each_time_it_listens(queue, eventually, delay):
    """No ring is heard: the poll floor finds the job."""
    worker, cuts = counter(queue), []
    with at_work(worker):
        eventually(lambda: queue.redis.client_kill_filter(_type="pubsub"))
        for n in range(2):
            queue.submit("t", id=f"j{n}", delay=delay)

            def ended(n=n):
                cuts.append(queue.redis.client_kill_filter(_type="pubsub"))
                return queue.get(f"j{n}").state == "done"

            eventually(ended, within=delay + FLOOR + 2)
    assert sum(cuts) >= 2


def test_a_scheduler_outlives_its_server(server, queue, eventually):
    scheduler = Scheduler(queue, floor=0.2)
    with at_work(scheduler):
        for n in range(2):
            server.restart()
            queue.submit("t", id=f"j{n}", delay=0.05)
            eventually(lambda n=n: queue.get(f"j{n}").state == "ready", within=10)
    assert queue.repair() == []
    check_copies(queue)
