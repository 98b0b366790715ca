"""The exception that ends a handler hits nothing but the handler, whatever its thread is doing by then."""

import sys
import threading

import pytest
from support.world import levels

from jobkit import heartbeat
from jobkit.backoff import Table
from jobkit.worker import Worker


@pytest.fixture
def at_the_door(monkeypatch, eventually):
    """Let a handler end in the very moment in which its exception is sent; returns what it waits for."""
    go, send = threading.Event(), heartbeat._raise_in

    def when_it_waits(thread, error):
        go.set()
        eventually(lambda: sys._current_frames()[thread].f_code.co_name in {"end", "__enter__"}, within=20)
        send(thread, error)

    monkeypatch.setattr(heartbeat, "_raise_in", when_it_waits)
    return go


def test_a_handler_that_ends_as_its_exception_comes(make_ticking, background, eventually, at_the_door):
    queue = make_ticking()
    worker = Worker(queue, max_run=0.05, backoff=Table(0.001))

    @worker.task
    def t(job):
        if job.attempt == 1:
            at_the_door.wait(20)

    queue.submit("t")
    background(worker, threads=2)
    eventually(lambda: queue.counts().totals.get("done") == 1, within=20)
    assert levels(queue) == (0, 0, 0, 0)
    eventually(lambda: not worker.runner.heartbeat._runs, within=20)  # the other thread may have been quicker
    assert not worker.hung
