"""What the workers of a campaign do: work that takes a while, fails at times, and has an effect."""

from __future__ import annotations

import os
from typing import Any

from jobkit.backoff import Exponential, full
from jobkit.chaos.plan import SCHEDULERS, log_key, queue_of
from jobkit.clock import Clock
from jobkit.connect import connect
from jobkit.job import Claim
from jobkit.once import effect_key, once
from jobkit.worker import Worker

clock = Clock()
queue = queue_of(connect())
own: dict[str, Any] = {} if os.environ.get(SCHEDULERS, "0") == "0" else {"scheduler": None}
worker = Worker(queue, backoff=Exponential(0.05, cap=1, jitter=full), **own)


@worker.task
def order(job: Claim, before: int, after: int, failures: int) -> None:
    """Work for `before` ms, fail the first so many times, take effect, work for `after` ms more.

    A kill may hit before the effect, or between it and the ack.
    """
    clock.sleep(before / 1000)
    if job.attempt <= failures:
        raise OSError("the other side hung up")
    effects: list[tuple[str, ...]] = [("INCR", effect_key(queue, job.id))]
    if job.entity is not None:
        effects.append(("RPUSH", log_key(queue, job.entity), job.id))
    once(queue, job, *effects)
    clock.sleep(after / 1000)
