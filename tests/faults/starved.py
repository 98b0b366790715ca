"""A worker process whose handler holds the GIL, so that its own heartbeat cannot run."""

import time

import jobkit as jk

queue = jk.Queue(jk.connect(), "q", lease=0.3)
worker = jk.Worker(queue, name="starved", scheduler=None)


@worker.task
def crunch(job, seconds):
    """Stay in one C call for so long: the sum of a range lets no other thread run until it is done."""
    began = time.perf_counter()
    sum(range(10**6))
    per_second = 10**6 / (time.perf_counter() - began)
    queue.redis.set("at-work", 1)
    sum(range(int(per_second * seconds)))
    queue.redis.set("awake", "lost" if job.lost else "unaware")
    jk.once(queue, job, ("INCR", jk.effect_key(queue, job.id)))


if __name__ == "__main__":
    print(*(outcome.became for outcome in worker.step()), flush=True)
