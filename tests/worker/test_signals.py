"""A real process and real signals: claim no more, a grace time, give back the rest, and go."""

import os
import signal
import subprocess
import sys

import pytest
from support.world import levels, rows

from jobkit.connect import address_for_others
from jobkit.submission import New

PROGRAM = """
import threading
import jobkit as jk

redis = jk.connect(prefix="")
queue = jk.Queue(redis, "q", ready=jk.{store}(), lease=30)
worker = jk.Worker(queue, batch={batch}, grace={grace})

@worker.task
def t(job, seconds=0.0):
    print("runs", job.id, flush=True)
    threading.Event().wait(seconds)

worker.run(threads={threads})
print("ended", flush=True)
"""


@pytest.fixture
def start(ticking, store):
    """Start a worker process on the test's server; what is left of it is killed at the end."""
    started = []

    def start(**settings):
        program = PROGRAM.format(**{"store": type(store).__name__, "batch": 1, "grace": 10, "threads": 1} | settings)
        process = subprocess.Popen(
            [sys.executable, "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "JOBKIT_REDIS": address_for_others(ticking)},
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def ended(process, within=20):
    out, err = process.communicate(timeout=within)
    assert process.returncode == 0, err
    assert out.endswith("ended\n")
    return out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_worker_goes_at_once(make_ticking, start, eventually, number):
    queue = make_ticking()
    process = start(grace=60)
    queue.submit("t", id="j")
    assert process.stdout.readline() == "runs j\n"
    eventually(lambda: levels(queue) == (0, 0, 0, 0))
    process.send_signal(number)
    ended(process)


def test_it_lets_a_running_job_finish_and_claims_no_more(make_ticking, start):
    queue = make_ticking()
    queue.submit_many([New("t", {"seconds": 0.5}, id=id) for id in "abc"])
    process = start()
    assert process.stdout.readline() == "runs a\n"
    process.send_signal(signal.SIGTERM)
    assert "runs" not in ended(process)
    assert {id: said.split()[0] for id, said in rows(queue).items()} == {"a": "done", "b": "ready", "c": "ready"}


def test_it_gives_back_what_does_not_finish(make_ticking, start):
    queue = make_ticking()
    queue.submit_many([New("t", {"seconds": 600}, id=id) for id in "abcd"])
    process = start(grace=0.3, batch=2, threads=1)
    assert process.stdout.readline() == "runs a\n"
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert {said.partition(" #")[0] for said in rows(queue).values()} == {"ready 0/5"}
    assert levels(queue) == (0, 4, 0, 0)
    assert len(queue.claim("w", 10)) == 4  # ready, not suspects


def test_a_second_signal_waits_for_nobody(make_ticking, start):
    queue = make_ticking()
    queue.submit("t", {"seconds": 600}, id="j")
    process = start(grace=600)
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.6)
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert rows(queue) == {"j": "ready 0/5 #1 [released 1]"}


@pytest.mark.live_only("kill -9 of a client of the fake over TCP takes the fake's own thread along")
def test_kill_9_costs_a_lease_and_an_attempt(make_ticking, start):
    queue = make_ticking()
    queue.submit("t", {"seconds": 600}, id="j")
    process = start()
    process.stdout.readline()
    process.kill()
    process.wait(20)
    assert levels(queue) == (0, 0, 1, 0)
    queue.redis.clock.advance(31)
    assert queue.recover() == (1, 0)
    assert rows(queue) == {"j": "ready 1/5 #1 [recovered 1]"}
