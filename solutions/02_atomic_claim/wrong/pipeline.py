"""Document B: ZREM and the push in one pipeline."""

# the check says: handed over once


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    due = redis.zrange(delayed, "-inf", server_now(redis), byscore=True, offset=0, num=limit)
    for job in due:
        redis.pipeline(transaction=True).zrem(delayed, job).xadd(ready, {"id": job}).execute()
    return len(due)
