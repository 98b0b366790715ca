"""The worker process of the benchmarks: the kit as a user would run it, heartbeat, history and logging on."""

import logging
import os

import jobkit as jk
from benchmarks.effects import Effects

if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    effects = Effects(os.environ["BENCH_EFFECTS"])
    worker = jk.Worker(jk.Queue(jk.connect(), "bench"), batch=int(os.environ["BENCH_BATCH"]))

    @worker.task
    def note(job, i):
        effects.add(i)

    worker.run(threads=int(os.environ["BENCH_THREADS"]))
