"""UNSAFE, for lessons: pieces of designs B and C as their documents have them. Each says what it breaks.

    plain_pipeline    `Queue(promote=)`: read, then remove and push in a pipeline     handed out twice
    pop_and_forget    `Queue(take=)`: pop, and no deadline                            lost with its worker
    by_nanoseconds    `Queue(promote=)`, with `schedule_ns`: scores in ns,            out of order, and
                      and the same pipeline                                           handed out twice

    this_minute       of design C, with `Buckets`: drain the bucket of this minute    never found, if late
    java_shard        of design C, for `shard`: Math.abs(id.hashCode()) % n           in a shard that nobody drains

Those of design B are for `Lists()`. What is right stands in `promote.lua`, `claim.lua`, `lists.lua`,
`buckets.lua` and `keys.shard`.
"""

from __future__ import annotations

from typing import Any

import redis as redis_py

from jobkit.keys import PRIORITIES, Keys
from jobkit.ready.buckets import Buckets, minute_of


def plain_pipeline(redis: redis_py.Redis, keys: Keys, limit: int) -> list[bytes]:
    """UNSAFE promote: what another scheduler has read, too, becomes ready twice, and is handed out twice.

    A pipeline saves round trips. It does not join the read before it, and nobody looks at what ZREM answers.
    """
    due: Any = redis.zrange(keys.delayed, "-inf", _now_ns(redis) // 1_000_000, byscore=True, offset=0, num=limit)
    return _moved(redis, keys, due)


def pop_and_forget(redis: redis_py.Redis, keys: Keys, limit: int) -> list[bytes]:
    """UNSAFE take: a job whose worker dies is lost, since nothing on the server knows that it was taken.

    The document blocks in BLPOP; a worker of the kit waits for the bell instead.
    """
    taken: list[bytes] = []
    for priority in PRIORITIES:
        if len(taken) < limit:
            popped: Any = redis.lpop(keys.priority(priority), limit - len(taken))
            taken += popped or []
    return taken


def schedule_ns(redis: redis_py.Redis, keys: Keys, id: str, delay_ns: int) -> None:
    """Give a scheduled job a score in ns, as `by_nanoseconds` reads it: some ns from now."""
    redis.zadd(keys.delayed, {id: _now_ns(redis) + delay_ns}, xx=True)


def by_nanoseconds(redis: redis_py.Redis, keys: Keys, limit: int) -> list[bytes]:
    """UNSAFE promote: jobs that are less than 256 ns apart share a score, and come in the order of their ids.

    A score is a double, whose step is 256 at today's ns since the epoch. Milliseconds are exact.
    """
    due: Any = redis.zrange(keys.delayed, "-inf", _now_ns(redis), byscore=True, offset=0, num=limit)
    return _moved(redis, keys, due)


def this_minute(buckets: Buckets, k: int, limit: int = 100) -> list[bytes]:
    """UNSAFE drain: looks at the bucket of the present minute. What is left in an older one stays there for ever.

    So does a job that comes late: its own minute is over before it is put there. Nor is a job of this
    minute asked for its second.
    """
    keys, redis = buckets.shards[k], buckets.redis
    bucket = keys.bucket + minute_of(_now_ns(redis) // 1_000_000)
    due: list[bytes] = redis.zrange(bucket, 0, limit - 1)
    pipe = redis.pipeline()
    for id in due:
        pipe.zrem(bucket, id).rpush(keys.ready, id)
    pipe.execute()
    return due


def java_shard(text: str, n: int) -> int:
    """UNSAFE shard: a text whose hash is the least integer has no absolute value, and -2147483648 % 3 is -2 in Java."""
    hashed = 0
    for unit in memoryview(text.encode("utf-16-le")).cast("H"):  # hashCode counts in UTF-16
        hashed = (31 * hashed + unit) & 0xFFFFFFFF
    signed = hashed - (1 << 32) if hashed >> 31 else hashed
    absolute = signed if signed == -(1 << 31) else abs(signed)
    return absolute % n if absolute >= 0 else -(-absolute % n)  # the remainder takes the sign of what is divided


def _moved(redis: redis_py.Redis, keys: Keys, due: list[bytes]) -> list[bytes]:
    """Remove and push, in a plain pipeline."""
    pipe = redis.pipeline(transaction=False)
    for id in due:
        pipe.zrem(keys.delayed, id)
        pipe.rpush(keys.priority(0), id)
    pipe.execute()
    return due


def _now_ns(redis: redis_py.Redis) -> int:
    """The server's time: the document takes the worker's, which is one fault more, and design A's lesson."""
    seconds, micros = redis.time()
    return (int(seconds) * 1_000_000 + int(micros)) * 1000
