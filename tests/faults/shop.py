"""Handlers for worker processes: they say where they are by the keys that they write."""

import os

import jobkit as jk

queue = jk.Queue(jk.connect(), "shop", lease=1)
worker = jk.Worker(queue, backoff=jk.Table(0.05), grace=5)
gate = jk.connect()


@worker.task
def wait_for_gate(job):
    """Run until somebody opens the gate, or for 30 s."""
    queue.redis.set(f"at-work:{job.id}", os.getpid())
    for _ in range(3000):
        if gate.exists("gate"):
            return
        queue.clock.sleep(0.01)


@worker.task
def pay(job, amount):
    """Take effect, then die before the ack, the first time."""
    jk.once(queue, job, ("INCRBY", jk.effect_key(queue, "till"), amount))
    if job.attempt == 1:
        os.kill(os.getpid(), 9)
