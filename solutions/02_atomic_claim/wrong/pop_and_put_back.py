"""ZPOPMIN, and what is not due goes back: a crash loses."""

# the check says: in one place whoever dies


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    moved = 0
    for _ in range(limit):
        for job, score in redis.zpopmin(delayed, 1):
            if score > server_now(redis):
                redis.zadd(delayed, {job: score}, nx=True)
                return moved
            redis.xadd(ready, {"id": job})
            moved += 1
    return moved
