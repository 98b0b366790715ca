"""The push before the removal."""

# the check says: handed over once


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    due = redis.zrange(delayed, "-inf", server_now(redis), byscore=True, offset=0, num=limit)
    for job in due:
        redis.xadd(ready, {"id": job})
        redis.zrem(delayed, job)
    return len(due)
