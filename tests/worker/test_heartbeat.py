"""Heartbeats keep a lease alive, and carry news to the handler."""

import contextlib

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from support import stores
from support.world import levels, row

from jobkit.backoff import Table
from jobkit.errors import Cancelled, LeaseLost, RunTooLong
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker

# -- on a virtual clock: while the handler sleeps on it, what falls due runs -------------------------


@pytest.fixture
def virtual(fake, store):
    return Queue(fake, "q", ready=store, lease=30)


def test_a_handler_that_sleeps_longer_than_its_lease_keeps_the_job(virtual):
    worker, recovered = Worker(virtual), []

    @worker.task
    def t(job):
        for _ in range(20):
            virtual.clock.sleep(10)
            recovered.append(Scheduler(virtual).tick().recovered)

    virtual.submit("t", id="j")
    assert [outcome.became for outcome in worker.step()] == ["done"]
    assert sum(recovered) == 0
    assert row(virtual) == "done 1/5 #1 [done 1], expires"


def test_so_do_the_jobs_that_wait_in_its_batch(virtual):
    worker = Worker(virtual, batch=3)

    @worker.task
    def t(job):
        virtual.clock.sleep(100)
        assert Scheduler(virtual).tick().recovered == 0

    virtual.submit_many([New("t") for _ in range(3)])
    assert [outcome.attempt for outcome in worker.step()] == [1, 1, 1]


def test_after_the_run_nothing_beats_any_more(virtual):
    worker = Worker(virtual)
    worker.task(name="t")(lambda job: None)
    virtual.submit("t")
    worker.step()
    virtual.submit("other", id="j")
    virtual.claim("w2")
    before = virtual.clock._timers[:]
    virtual.clock.advance(1000)
    assert all(timer.cancelled for *_, timer in before)
    assert virtual.recover() == (1, 0)


def test_a_cancel_reaches_the_handler(virtual):
    worker = Worker(virtual)

    @worker.task
    def t(job):
        virtual.cancel("j")
        job.check()  # not known yet
        virtual.clock.sleep(11)
        assert job.cancelled
        job.check()

    virtual.submit("t", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.error.partition(":")[0]) == ("cancelled", "Cancelled")
    assert row(virtual) == "cancelled 1/5 #1 [cancelled 1], expires"


def test_a_handler_that_finishes_all_the_same_is_done(virtual):
    worker = Worker(virtual)

    @worker.task
    def t(job):
        virtual.cancel("j")
        virtual.clock.sleep(11)

    virtual.submit("t", id="j")
    assert [outcome.became for outcome in worker.step()] == ["done"]


def test_a_cancel_while_the_job_waits_in_its_batch_stops_it_before_it_runs(virtual):
    worker, ran = Worker(virtual, batch=2), []

    @worker.task
    def t(job):
        ran.append(job.id)
        virtual.cancel("b")
        virtual.clock.sleep(11)

    virtual.submit_many([New("t", id=id) for id in "ab"])
    assert [(outcome.id, outcome.became) for outcome in worker.step()] == [("a", "done"), ("b", "cancelled")]
    assert ran == ["a"]


def lose(queue):
    """Somebody takes the running job away: its worker was paused for longer than a lease."""
    stores.end_the_leases(queue)
    assert queue.recover() == (1, 0)


def test_a_lost_lease_reaches_the_handler(virtual):
    worker = Worker(virtual)

    @worker.task
    def t(job):
        if job.attempt == 1:
            lose(virtual)
            virtual.clock.sleep(11)
            assert job.lost
            job.check()

    virtual.submit("t", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.error.partition(":")[0]) == ("stale", "LeaseLost")
    assert row(virtual) == "ready 1/5 #1 [recovered 1]"
    assert [outcome.became for outcome in worker.step()] == ["done"]


def test_a_lost_run_that_goes_on_is_refused_at_its_end(virtual, caplog):
    worker = Worker(virtual)

    @worker.task
    def t(job):
        lose(virtual)

    virtual.submit("t", id="j")
    assert [outcome.became for outcome in worker.step()] == ["stale"]
    assert row(virtual) == "ready 1/5 #1 [recovered 1]"
    assert "too late" in caplog.text


def test_a_failed_heartbeat_is_not_a_lost_lease(virtual, monkeypatch):
    worker, each = Worker(virtual), virtual.each

    def gone(verb, claims):
        if verb == "extend":
            raise RedisConnectionError("gone")
        return each(verb, claims)

    @worker.task
    def t(job):
        monkeypatch.setattr(virtual, "each", gone)
        virtual.clock.sleep(25)
        monkeypatch.setattr(virtual, "each", each)
        virtual.clock.sleep(100)
        job.check()

    virtual.submit("t", id="j")
    assert [outcome.became for outcome in worker.step()] == ["done"]


@pytest.mark.parametrize(("limit", "lease"), [(5, 30), (5, 3), (45, 30)])
def test_a_maximum_run_time(fake, store, limit, lease):
    queue = Queue(fake, "q", ready=store, lease=lease)
    worker, slept = Worker(queue, max_run=limit, backoff=Table(100)), []

    @worker.task
    def t(job):
        began = queue.clock.now()
        try:
            queue.clock.sleep(1000)
        finally:
            slept.append((queue.clock.now() - began) / 1000)

    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.delay_ms, outcome.error.partition(":")[0]) == ("retry", 100_000, "RunTooLong")
    assert slept == [limit]
    assert row(queue) == "scheduled 1/5 #1 [retry 1]"
    assert not worker.hung


def test_a_maximum_run_time_is_each_handlers_own(virtual):
    worker = Worker(virtual, max_run=50, batch=3)
    worker.task(name="t")(lambda job: virtual.clock.sleep(40))
    virtual.submit_many([New("t") for _ in range(3)])
    assert [outcome.became for outcome in worker.step()] == ["done"] * 3


def test_a_handler_that_swallows_the_end_of_its_time_is_too_late(virtual):
    worker = Worker(virtual, max_run=5)

    @worker.task
    def t(job):
        with contextlib.suppress(RunTooLong):
            virtual.clock.sleep(1000)

    virtual.submit("t", id="j")
    worker.step()
    assert row(virtual).startswith("scheduled 1/5")
    assert worker.runner._late == {}


def test_a_poison_that_hangs_ends_in_the_dead_letters(virtual):
    worker = Worker(virtual, max_run=5, backoff=Table(1))
    worker.task(name="t")(lambda job: virtual.clock.sleep(10**6))
    virtual.submit("t", id="j", max_attempts=3)
    assert [outcome.became for outcome in worker.drain()] == ["retry", "retry", "dead"]


# -- in real time: a thread ------------------------------------------------------------------------


def test_a_handler_that_blocks_keeps_its_job(make_ticking, eventually):
    queue = make_ticking(lease=2)
    worker, seen = Worker(queue), []

    @worker.task
    def t(job):
        began = queue.clock.monotonic()
        eventually(lambda: queue.clock.monotonic() - began > 2.5)
        seen.append(queue.recover())

    queue.submit("t", id="j")
    assert [outcome.became for outcome in worker.step()] == ["done"]
    assert seen == [(0, 0)]


@pytest.mark.parametrize("news", ["cancelled", "lost"])
def test_news_reach_a_busy_handler(make_ticking, eventually, news):
    queue = make_ticking(lease=0.3)
    worker = Worker(queue)

    @worker.task
    def t(job):
        if job.attempt > 1:
            return
        queue.cancel("j") if news == "cancelled" else lose(queue)
        eventually(lambda: getattr(job, news), within=20)
        job.check()

    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert outcome.error.partition(":")[0] == {"cancelled": Cancelled, "lost": LeaseLost}[news].__name__
    assert outcome.became == {"cancelled": "cancelled", "lost": "stale"}[news]


def test_the_thread_ends_with_the_work(make_ticking, eventually):
    queue = make_ticking(lease=0.05)
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    for _ in range(3):
        queue.submit("t")
        worker.step()
    eventually(lambda: worker.runner.heartbeat._thread is None)
    assert levels(queue) == (0, 0, 0, 0)
