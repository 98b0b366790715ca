"""The worker processes of `make failover`: a job takes 3 ms; the journal of the crew says what ran."""

import os

import jobkit as jk

worker = jk.Worker(jk.Queue(jk.connect(), os.environ["BENCH_QUEUE"], lease=2), backoff=jk.Table(1))


@worker.task
def note(job):
    worker.queue.clock.sleep(0.003)
