"""Only who removed it hands it over: no duplicates, and a crash loses."""

# the check says: in one place whoever dies


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    moved = 0
    for job in redis.zrange(delayed, "-inf", server_now(redis), byscore=True, offset=0, num=limit):
        if redis.zrem(delayed, job):
            redis.xadd(ready, {"id": job})
            moved += 1
    return moved
