"""What the workers of a campaign do: work that takes a while, fails at times, and has an effect."""

from __future__ import annotations

import os

from jobkit.backoff import Exponential, full
from jobkit.chaos.plan import LEASE, QUEUE
from jobkit.clock import Clock
from jobkit.connect import connect
from jobkit.job import Claim
from jobkit.once import effect_key, once
from jobkit.queue import Queue
from jobkit.worker import Worker

clock = Clock()
queue = Queue(connect(), QUEUE, lease=float(os.environ.get(LEASE, "2")), max_attempts=100, retention=86_400)
worker = Worker(queue, backoff=Exponential(0.05, cap=1, jitter=full))


@worker.task
def order(job: Claim, before: int, after: int, failures: int) -> None:
    """Work for `before` ms, fail the first so many times, take effect, work for `after` ms more.

    A kill may hit before the effect, or between it and the ack.
    """
    clock.sleep(before / 1000)
    if job.attempt <= failures:
        raise OSError("the other side hung up")
    once(queue, job, ("INCR", effect_key(queue, job.id)))
    clock.sleep(after / 1000)
