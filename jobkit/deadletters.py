"""Reading the dead letters, even those whose record is gone."""

from __future__ import annotations

from typing import Any

from jobkit.answers import DeadLetter
from jobkit.history import parse
from jobkit.keys import Keys


def ids(redis: Any, keys: Keys) -> list[str]:
    """Return the ids of all dead letters, the oldest first."""
    return [id.decode() for id in redis.zrange(keys.dead, 0, -1)]


def page(redis: Any, keys: Keys, limit: int, offset: int) -> list[DeadLetter]:
    """Return `limit` dead letters from the `offset`-th on, the newest first."""
    buried = redis.zrange(keys.dead, offset, offset + limit - 1, desc=True, withscores=True)
    pipe = redis.pipeline(transaction=False)
    for id, _ in buried:
        pipe.hmget(keys.job.encode() + id, "task", "events", "replays")
    heads = pipe.execute()
    for (id, _), (_, events, _) in zip(buried, heads, strict=True):
        pipe.hget(keys.job.encode() + id, b"history:%s" % (events or b"0"))
    return [
        DeadLetter(
            id.decode(),
            (task or b"?").decode(),
            int(at),
            int(replays or 0),
            parse(line) if line else None,
        )
        for (id, at), (task, _, replays), line in zip(buried, heads, pipe.execute(), strict=True)
    ]
