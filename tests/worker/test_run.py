"""run: handler threads, a scheduler beside them, and an end in order."""

import threading

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from support.wire import listeners
from support.world import levels, row, rows, totals

from jobkit.backoff import Table
from jobkit.errors import ConfigError, Permanent
from jobkit.loop import Loop
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker


def all_done(queue, n):
    return lambda: totals(queue)["done"] == n


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("batch", [1, 5])
def test_every_job_once(make_ticking, background, eventually, threads, batch):
    queue, ran, lock = make_ticking(), [], threading.Lock()
    worker = Worker(queue, batch=batch)

    @worker.task
    def t(job):
        with lock:
            ran.append(job.id)

    queue.submit_many([New("t", id=f"a{n}") for n in range(20)])
    background(worker, threads=threads)
    queue.submit_many([New("t", id=f"b{n}", delay=0.002 * n) for n in range(20)])
    eventually(all_done(queue, 40), within=20)
    assert sorted(ran) == sorted(rows(queue))
    assert levels(queue) == (0, 0, 0, 0)


def test_one_ring_wakes_one_of_many_handlers(make_ticking, background, eventually, monkeypatch):
    queue, looks, went_to_sleep, threads = make_ticking(), [], [], 8
    worker, claim, sleep = Worker(queue, scheduler=None), queue.ack_and_claim, Loop._sleep
    monkeypatch.setattr(queue, "ack_and_claim", lambda *args: looks.append(args) or claim(*args))
    monkeypatch.setattr(Loop, "_sleep", lambda loop: went_to_sleep.append(loop) or sleep(loop))
    background(worker, threads=threads)
    for rings in range(1, 6):
        eventually(lambda: len(looks) == len(went_to_sleep) >= threads, within=20)  # all have looked, and sleep
        seen = len(looks)
        queue.redis.publish(queue.keys.bell, f"ring {rings}")
        eventually(lambda seen=seen: len(looks) > seen, within=20)
    eventually(lambda: len(looks) == len(went_to_sleep), within=20)
    assert len(looks) - threads < 2 * threads  # with everybody up at each ring it would be five times as many


def test_jobs_of_every_fate(make_ticking, background, eventually):
    queue = make_ticking()
    worker = Worker(queue, backoff=Table(0.01), name="w")

    @worker.task
    def t(job, fate):
        if fate == "fails twice" and job.attempt < 3:
            raise ValueError(job.attempt)
        if fate == "fails":
            raise ValueError
        if fate == "is permanent":
            raise Permanent

    for fate in ("works", "fails twice", "fails", "is permanent"):
        queue.submit("t", {"fate": fate}, id=fate, max_attempts=4)
    queue.submit("nobody", id="unknown")
    background(worker, threads=2)
    eventually(lambda: totals(queue)["done"] == 2 and totals(queue)["dead"] == 3, within=20)
    told = {id: said.partition(" #")[0] for id, said in rows(queue).items()}
    assert told == {
        "works": "done 1/4",
        "fails twice": "done 3/4",
        "fails": "dead 4/4",
        "is permanent": "dead 1/4",
        "unknown": "dead 0/5",
    }


def test_it_wakes_at_once_for_a_new_job(make_ticking, background, eventually):
    """Without the bell it would take up to the floor of two seconds each time: ten of them, twenty seconds."""
    queue = make_ticking()
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    background(worker)
    eventually(lambda: listeners(queue.redis, queue.keys.bell) == 1)
    began = queue.clock.monotonic()
    for n in range(10):
        queue.submit("t")
        eventually(all_done(queue, n + 1), within=20)
    assert queue.clock.monotonic() - began < 10


def test_a_scheduler_beside_the_workers(make_ticking, background, eventually):
    queue = make_ticking()
    workers = [Worker(queue, scheduler=None, name=f"w{n}") for n in range(2)]
    for worker in workers:
        worker.task(name="t")(lambda job: None)
        background(worker)
    queue.submit_many([New("t", delay=0.01)] * 10)
    background(Scheduler(queue))
    eventually(all_done(queue, 10), within=20)


def test_stopped_it_claims_no_more_and_lets_handlers_finish(make_ticking, background, eventually):
    queue, inside, go_on = make_ticking(), threading.Event(), threading.Event()
    worker = Worker(queue, batch=3)

    @worker.task
    def t(job):
        inside.set()
        go_on.wait(20)

    queue.submit_many([New("t", id=f"j{n}") for n in range(5)])
    thread = background(worker)
    assert inside.wait(20)
    worker.stop()
    go_on.set()
    thread.join(20)
    assert not thread.is_alive()
    assert {id: said.partition(" [")[0].partition(" #")[0] for id, said in rows(queue).items()} == {
        "j0": "done 1/5",
        "j1": "ready 0/5",
        "j2": "ready 0/5",
        "j3": "ready 0/5",
        "j4": "ready 0/5",
    }


def test_what_does_not_finish_in_its_grace_is_given_back_uncharged(make_ticking, background, eventually):
    queue, inside, go_on = make_ticking(), threading.Event(), threading.Event()
    worker = Worker(queue, grace=0.2, batch=2)

    @worker.task
    def t(job):
        inside.set()
        go_on.wait(60)

    queue.submit_many([New("t", id=id) for id in "ab"])
    thread = background(worker)
    try:
        assert inside.wait(20)
        worker.stop()
        thread.join(20)
        assert not thread.is_alive()
        assert rows(queue) == {"a": "ready 0/5 #1 [released 1]", "b": "ready 0/5 #2 [released 1]"}
    finally:
        go_on.set()
    eventually(lambda: worker.runner.heartbeat.held() == [])
    (claim,) = queue.claim("other")
    assert (claim.id, claim.attempt) == ("a", 1)  # the late end of the old handler changes nothing
    queue.ack(claim)


def test_it_can_run_again(make_ticking, background, eventually):
    queue = make_ticking()
    worker = Worker(queue)
    worker.task(name="t")(lambda job: None)
    for n in range(2):
        thread = background(worker)
        queue.submit("t")
        eventually(all_done(queue, n + 1))
        worker.stop()
        thread.join(20)
        assert not thread.is_alive()


def test_a_redis_that_is_away_for_a_while(make_ticking, background, eventually, monkeypatch):
    """Nothing ends the loop, what was done is acked when Redis is back, and nothing runs twice."""
    queue, ran = make_ticking(), []
    worker = Worker(queue, backoff=Table(0.01))
    each, both, fail = queue.each, queue.ack_and_claim, queue.fail
    away = threading.Event()

    def unless_away(call):
        def called(*args, **kwargs):
            if away.is_set():
                raise RedisConnectionError("away")
            return call(*args, **kwargs)

        return called

    for name, call in (("each", each), ("ack_and_claim", both), ("fail", fail)):
        monkeypatch.setattr(queue, name, unless_away(call))

    @worker.task
    def t(job, n):
        ran.append(n)
        if len(ran) in {3, 6}:
            away.set()
            threading.Timer(0.3, away.clear).start()
        if len(ran) == 6:
            raise ValueError

    queue.submit_many([New("t", {"n": n}) for n in range(9)])
    background(worker)
    eventually(all_done(queue, 9), within=30)
    assert len(ran) == 10
    assert totals(queue)["retried"] == 1


def test_a_fault_in_the_loop_does_not_end_it(make_ticking, background, eventually, monkeypatch, caplog):
    queue = make_ticking()
    worker, faults, real = Worker(queue), [], queue.ack_and_claim

    def broken(*args):
        if len(faults) < 2:
            faults.append(1)
            raise ZeroDivisionError("a fault of the kit")
        return real(*args)

    monkeypatch.setattr(queue, "ack_and_claim", broken)
    worker.task(name="t")(lambda job: None)
    queue.submit("t")
    background(worker)
    eventually(all_done(queue, 1), within=20)
    assert "a fault of the kit" in caplog.text


# -- a maximum run time -----------------------------------------------------------------------------


def test_a_busy_handler_is_ended(make_ticking, background, eventually):
    queue, rounds = make_ticking(), []
    worker = Worker(queue, max_run=0.2, backoff=Table(0.01))

    @worker.task
    def t(job):
        if job.attempt == 1:
            while True:
                rounds.append(1)
                del rounds[:]

    queue.submit("t", id="j")
    background(worker)
    eventually(all_done(queue, 1), within=30)
    assert row(queue) == "done 2/5 #2 [retry 1, done 2], expires"
    assert queue.history("j")[0].error["type"] == "RunTooLong"
    assert not worker.hung


def test_a_hung_handler_is_settled_and_the_worker_ends_for_replacement(make_ticking, background, eventually):
    queue, never = make_ticking(), threading.Event()
    worker = Worker(queue, max_run=0.1, grace=0.2, backoff=Table(50))

    @worker.task
    def t(job):
        never.wait(100)

    queue.submit("t", id="j")
    thread = background(worker)
    try:
        eventually(lambda: row(queue) == "scheduled 1/5 #1 [retry 1]", within=20)
        thread.join(20)
        assert not thread.is_alive()
        assert worker.hung
    finally:
        never.set()
    assert row(queue) == "scheduled 1/5 #1 [retry 1]"


def test_the_end_of_a_long_run_hits_nobody_else(make_ticking, background, eventually):
    """The asynchronous exception is for the handler alone: the next jobs of that thread are not hit."""
    queue, hit = make_ticking(), []
    worker = Worker(queue, max_run=0.05, backoff=Table(0.001))

    @worker.task
    def t(job):
        end = queue.clock.monotonic() + (0.05 if job.attempt == 1 else 0)
        while queue.clock.monotonic() < end:
            pass
        if job.attempt > 1 and job.stop:
            hit.append(job.id)

    queue.submit_many([New("t", id=f"j{n}") for n in range(25)])
    background(worker, threads=2)
    eventually(all_done(queue, 25), within=60)
    assert hit == []
    assert levels(queue) == (0, 0, 0, 0)


def test_on_a_virtual_clock_nobody_waits(queue):
    if queue.clock.virtual:
        with pytest.raises(ConfigError, match="virtual"):
            Worker(queue).run()


@pytest.mark.parametrize("threads", [0, -1, 1001, 1.0, True, None])
def test_how_many_threads(make_ticking, threads):
    with pytest.raises(ConfigError, match="threads"):
        Worker(make_ticking()).run(threads=threads)
