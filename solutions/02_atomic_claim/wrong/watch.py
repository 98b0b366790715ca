"""WATCH, MULTI, EXEC: right, and too many journeys."""

# the check says: commands for nine

from redis.exceptions import WatchError


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    pipe = redis.pipeline(transaction=True)
    while True:
        try:
            pipe.watch(delayed)
            due = pipe.zrange(delayed, "-inf", server_now(redis), byscore=True, offset=0, num=limit)
            pipe.multi()
            for job in due:
                pipe.zrem(delayed, job).xadd(ready, {"id": job})
            pipe.execute()
        except WatchError:
            continue
        return len(due)
