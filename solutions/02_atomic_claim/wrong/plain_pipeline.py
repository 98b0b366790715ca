"""Document B to the letter: a pipeline that is no transaction."""

# the check says: handed over once


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    due = redis.zrange(delayed, "-inf", server_now(redis), byscore=True, offset=0, num=limit)
    pipe = redis.pipeline(transaction=False)
    for job in due:
        pipe.zrem(delayed, job).xadd(ready, {"id": job})
    pipe.execute()
    return len(due)
