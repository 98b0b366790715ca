"""A worker process that takes a hundred jobs at once, one of which kills it."""

import os
import signal

import jobkit as jk

queue = jk.Queue(jk.connect(), "q", max_attempts=3)
worker = jk.Worker(queue, batch=100)


@worker.task
def work(job):
    if job.id == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    jk.once(queue, job, ("INCR", jk.effect_key(queue, job.id)))
