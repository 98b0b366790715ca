"""UNSAFE, for lessons: pieces of design B as its document has them. Each says what it breaks.

    plain_pipeline    `Queue(promote=)`: read, then remove and push in a pipeline     handed out twice
    pop_and_forget    `Queue(take=)`: pop, and no deadline                            lost with its worker
    by_nanoseconds    `Queue(promote=)`, with `schedule_ns`: scores in ns,            out of order, and
                      and the same pipeline                                           handed out twice

All are for `Lists()`. What is right stands in `promote.lua`, `claim.lua` and `lists.lua`.
"""

from __future__ import annotations

from typing import Any

import redis as redis_py

from jobkit.keys import PRIORITIES, Keys


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
