"""Counting the wine cellar, for the worker processes of notebook 06."""

import jobkit as jk

queue = jk.Queue(jk.connect(), "cellar", lease=1, ready=jk.Leases())
worker = jk.Worker(queue)

FENCED = """
if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'token') or 0) then
  return redis.call('HINCRBY', KEYS[1], 'refused', 1)
end
return redis.call('HSET', KEYS[1], 'token', ARGV[1], 'by', ARGV[2])
"""


@worker.task
def count(job, seconds):
    """Count for so long, then sign a board that obeys, and one that compares."""
    queue.clock.sleep(seconds)
    queue.redis.set(jk.effect_key(queue, "plain board"), job.worker)
    board = jk.effect_key(queue, "careful board")
    queue.redis.eval(FENCED, 1, board, job.token, job.worker)
