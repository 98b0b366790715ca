"""Design C's hot minute: a bucket of due jobs per minute, in shards that are drained in parallel.

A module for itself: `Queue` keeps all that is to come in one sorted set, which finds what is late by
itself. Here is what a set per minute takes to do so. How its document has it stands in `asfound`.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from jobkit.errors import ConfigError
from jobkit.keys import Keys, route, shard
from jobkit.scripts import evaluate, load, sha

MINUTE = 60_000


class Buckets:
    """Ids that are due, by the minute and by the shard: `<name>:shard-<k>`, each with a hash tag of its own.

    `shards` from 1 to 1,024. Raises ConfigError.
    """

    def __init__(self, redis: Any, name: str, *, shards: int = 1) -> None:
        if not isinstance(shards, int) or isinstance(shards, bool) or not 1 <= shards <= 1024:
            raise ConfigError(f"shards is a whole number from 1 to 1024, got {shards!r}")
        prefix = getattr(redis, "prefix", "")
        self.redis, self.shards = redis, tuple(Keys(f"{name}:shard-{k}", prefix) for k in range(shards))

    def of(self, id: str) -> Keys:
        """Return the keys of an id's shard."""
        return self.shards[shard(route(id), len(self.shards))]

    def add(self, id: str, at: int) -> str:
        """Put an id that is due `at` (ms since the epoch) into the bucket of its minute; returns the bucket's key."""
        keys, minute = self.of(id), minute_of(at)
        with self.redis.pipeline() as pipe:  # one step: a bucket that no index names would be found by nobody
            pipe.zadd(keys.bucket + minute, {id: at})
            pipe.zadd(keys.minutes, {minute: at - at % MINUTE})
            pipe.execute()
        return keys.bucket + minute

    def drain(self, k: int, limit: int = 100) -> list[bytes]:
        """Move up to `limit` due ids of shard `k` to its ready list, in one step; returns them, oldest minute first."""
        keys = self.shards[k]
        text = load("buckets", "jobkit.ready").text
        moved: list[bytes] = evaluate(self.redis, text, sha(text), [3, keys.minutes, keys.bucket, keys.ready, limit])
        return moved


def minute_of(at: int) -> str:
    """Return the name of a moment's minute (ms since the epoch), in UTC: 2026-10-24T00:00."""
    return datetime.fromtimestamp(at // 1000, UTC).strftime("%Y-%m-%dT%H:%M")
