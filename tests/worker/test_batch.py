"""A batch: run in order, each settled by itself, given back whole when somebody interrupts."""

import pytest
from support.world import levels, rows

from jobkit.backoff import Table
from jobkit.errors import Permanent
from jobkit.submission import New
from jobkit.worker import Worker


def told(outcomes):
    return [(outcome.id, outcome.became, outcome.attempt) for outcome in outcomes]


def test_a_batch_is_run_in_order_and_each_settled_by_itself(queue):
    worker = Worker(queue, batch=10, backoff=Table(7))

    @worker.task
    def t(job, n):
        if n % 3 == 1:
            raise ValueError(n)
        if n % 3 == 2:
            raise Permanent

    queue.submit_many([New("t", {"n": n}, id=f"j{n}") for n in range(6)] + [New("nobody", id="x")])
    outcomes = worker.step()
    assert told(outcomes) == [
        ("j0", "done", 1), ("j1", "retry", 1), ("j2", "dead", 1), ("j3", "done", 1),
        ("j4", "retry", 1), ("j5", "dead", 1), ("x", "dead", 1),
    ]  # fmt: skip
    assert levels(queue) == (2, 0, 0, 3)
    assert {id: said.split()[0] for id, said in rows(queue).items()}["j0"] == "done"


def test_a_keyboard_interrupt_gives_everything_back_uncharged(queue):
    worker = Worker(queue, batch=5)

    @worker.task
    def t(job, n):
        if n == 1:
            raise KeyboardInterrupt

    queue.submit_many([New("t", {"n": n}, id=f"j{n}") for n in range(4)])
    with pytest.raises(KeyboardInterrupt):
        worker.step()
    assert {id: said.split(" [")[0].split(" #")[0] for id, said in rows(queue).items()} == {
        "j0": "done 1/5",
        "j1": "ready 0/5",
        "j2": "ready 0/5",
        "j3": "ready 0/5",
    }
    assert worker.runner.heartbeat.held() == []
