"""The scheduler promotes and recovers, and no failing tick ends it."""

import logging
import threading

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from support.rubbish import NO_SECONDS
from support.seeds import ROWS, seed
from support.wire import listeners
from support.world import levels, row

from jobkit.errors import ConfigError, DelayError
from jobkit.queue import Queue
from jobkit.scheduler import BATCH, Scheduler
from jobkit.submission import New

PROMOTED = {"due", "due for retry", "requeued"}
RECOVERED = {"late"}
BURIED = {"late, last run"}


@pytest.mark.parametrize("state", ROWS)
def test_a_tick(queue, state):
    seed(queue, state)
    tick = Scheduler(queue).tick()
    assert tick[:3] == (state in PROMOTED, state in RECOVERED, state in BURIED)
    assert (tick.wait is None) == (state not in {"scheduled", "waiting for retry"})


def test_a_tick_moves_all_that_is_due_however_much(queue):
    queue.submit_many([New("t", delay=5)] * (BATCH + 1))
    queue.submit("t", delay=65)
    queue.redis.clock.advance(5)
    tick = Scheduler(queue).tick()
    assert tick[:3] == (BATCH + 1, 0, 0)
    assert tick.wait == pytest.approx(60, abs=2)
    assert levels(queue) == (1, BATCH + 1, 0, 0)


def test_a_tick_takes_back_all_that_is_late_however_much(queue):
    queue.submit_many([New("t", max_attempts=1 + n % 2) for n in range(BATCH + 4)])
    while queue.claim("w", 500):
        pass
    queue.redis.clock.advance(31)
    assert Scheduler(queue).tick()[:3] == (0, BATCH // 2 + 2, BATCH // 2 + 2)
    assert levels(queue) == (0, BATCH // 2 + 2, 0, BATCH // 2 + 2)


def test_several_schedulers_do_no_harm(queue):
    queue.submit_many([New("t", delay=5)] * 20)
    queue.redis.clock.advance(5)
    ticks = [Scheduler(queue).tick() for _ in range(3)]
    assert [tick.promoted for tick in ticks] == [20, 0, 0]
    assert len(queue.claim("w", 100)) == 20


def test_it_tidies_now_and_then(make_queue):
    queue = make_queue(dead_age=100)
    scheduler = Scheduler(queue)
    scheduler.tick()
    seed(queue, "dead")
    queue.redis.clock.advance(101)
    if queue.redis.clock.virtual:  # real time has not passed: the scheduler paces itself by its own clock
        scheduler.tick()
    else:
        Scheduler(queue).tick()
    assert row(queue) == "missing"


def test_a_light_tick_promotes_each_time_and_recovers_now_and_then(queue, monkeypatch):
    scheduler, calls = Scheduler(queue), []
    recover = queue.recover
    monkeypatch.setattr(queue, "recover", lambda *args: calls.append(1) or recover(*args))
    scheduler.tick_lightly()
    assert len(calls) == 1
    queue.submit("t")
    queue.submit("t", delay=0.2)
    for _ in range(5):
        scheduler.tick_lightly()
    assert len(calls) <= 2
    queue.redis.clock.advance(0.2)
    assert scheduler.tick_lightly().promoted == 1


# -- the loop ---------------------------------------------------------------------------------------


def test_it_runs_until_it_is_stopped(make_ticking, background, eventually):
    queue = make_ticking()
    scheduler = Scheduler(queue, floor=0.05)
    thread = background(scheduler)
    queue.submit("t", delay=0.02)
    eventually(lambda: levels(queue) == (0, 1, 0, 0))
    queue.claim("w")
    queue.redis.clock.advance(31)
    eventually(lambda: levels(queue) == (0, 1, 0, 0))
    scheduler.stop()
    thread.join(5)
    assert not thread.is_alive()


def test_it_wakes_for_an_earlier_job(make_ticking, background, eventually):
    """The floor is half a minute: only the bell can wake it in time."""
    queue = make_ticking(lease=600)
    scheduler = Scheduler(queue, floor=30)
    background(scheduler)
    eventually(lambda: listeners(queue.redis, queue.keys.bell) == 1)
    queue.submit("t", delay=25)
    queue.submit("t", id="soon", delay=0.05)
    eventually(lambda: levels(queue) == (1, 1, 0, 0), within=10)


@pytest.mark.parametrize("error", [RedisConnectionError("gone"), ValueError("a fault"), OSError("no more files")])
def test_a_failing_tick_never_ends_it(make_ticking, background, eventually, monkeypatch, caplog, error):
    queue, ticks = make_ticking(), []
    promote = queue.promote

    def fail_at_first(*args):
        ticks.append(1)
        if len(ticks) <= 3:
            raise error
        return promote(*args)

    monkeypatch.setattr(queue, "promote", fail_at_first)
    queue.submit("t", delay=0.01)
    with caplog.at_level(logging.WARNING, "jobkit.scheduler"):
        background(Scheduler(queue, floor=0.02))
        eventually(lambda: levels(queue) == (0, 1, 0, 0), within=15)
    assert len(ticks) > 3
    assert str(error) in caplog.text


def test_two_in_threads_promote_each_job_once(make_ticking, background, eventually):
    queue = make_ticking()
    for _ in range(2):
        background(Scheduler(queue, floor=0.02))
    queue.submit_many([New("t", delay=0.001 * n) for n in range(60)])
    eventually(lambda: levels(queue)[0] == 0, within=10)
    assert levels(queue) == (0, 60, 0, 0)


def test_stop_from_the_start(make_ticking):
    scheduler = Scheduler(make_ticking(), floor=0.02)
    scheduler.stop()
    thread = threading.Thread(target=scheduler.run)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_on_a_virtual_clock_nobody_waits(fake, store):
    with pytest.raises(ConfigError, match="virtual"):
        Scheduler(Queue(fake, "q", ready=store)).run()


@pytest.mark.parametrize("name", NO_SECONDS)
def test_a_floor_is_seconds(fake, store, name):
    with pytest.raises(DelayError, match="floor"):
        Scheduler(Queue(fake, "q", ready=store), floor=NO_SECONDS[name])
