"""The night desk's handler, for worker processes: notebook 05 starts three of them.

A worker process imports a module, so its handlers stand in a file: a function from a
cell can't travel.
"""

import jobkit as jk

queue = jk.Queue(jk.connect(), "desk", lease=2)
worker = jk.Worker(queue)


@worker.task
def ring(job, seconds):
    """Ring a room, put one euro on its two bills, and stay on the line."""
    queue.redis.incr(jk.effect_key(queue, f"plain bill of {job.id}"))
    jk.once(queue, job, ("INCR", jk.effect_key(queue, f"careful bill of {job.id}")))
    queue.clock.sleep(seconds)
