"""The yardstick: the same work by hand, with no leases, retries, dead letters, history or log.

XREADGROUP, HGET, json.loads, the job, XACK + XDEL + DEL; delayed jobs wait in a sorted set, which
is polled.
"""

import contextlib
import json
import time

import redis as redis_py

DELAYED, STREAM, GROUP, JOB = "bare:delayed", "bare:ready", "bare", "bare:job:"

PROMOTE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, 500)
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
"""


def submit(redis, n, due=None):
    """Submit n jobs, 500 in a pipeline: ready, or due at one moment (seconds since the epoch)."""
    for start in range(0, n, 500):
        pipe = redis.pipeline(transaction=False)
        for i in range(start, min(n, start + 500)):
            pipe.hset(f"{JOB}{i}", mapping={"args": json.dumps({"i": i}), "attempts": 0})
            if due is None:
                pipe.xadd(STREAM, {"id": i})
            else:
                pipe.zadd(DELAYED, {i: int(due * 1000)})
        pipe.execute()


def drain(redis, batch, effects, expected=0):
    """Run `batch` jobs at a time until none is ready; first wait until `expected` delayed ones were moved, if any."""
    with contextlib.suppress(redis_py.ResponseError):  # it is there
        redis.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    while True:
        if expected:
            expected -= redis.eval(PROMOTE, 2, DELAYED, STREAM)
        got = redis.xreadgroup(GROUP, "bare", {STREAM: ">"}, count=batch)
        if got:
            run(redis, got[0][1], effects)
        elif not expected:
            return
        else:
            time.sleep(0.005)


def run(redis, entries, effects):
    """Run the jobs of some entries, and ack them together."""
    names = [name for name, _ in entries]
    records = [JOB + fields[b"id"].decode() for _, fields in entries]
    pipe = redis.pipeline(transaction=False)
    for record in records:
        pipe.hget(record, "args")
    for args in pipe.execute():
        effects.add(**json.loads(args))
    pipe.xack(STREAM, GROUP, *names)
    pipe.xdel(STREAM, *names)
    pipe.delete(*records)
    pipe.execute()
