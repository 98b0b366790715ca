"""Design A: a Redis stream read by one consumer group."""

from __future__ import annotations

from typing import Any

from jobkit.keys import Keys
from jobkit.scripts import Source, load

PAGE = 1000
"""Entries that a scan reads at a time."""


class Streams:
    """Ready jobs in a stream, running ones pending in its consumer group.

    The lease is one for the whole queue: how long an entry may stay untouched. XAUTOCLAIM finds
    the late ones, XCLAIM JUSTID renews.
    """

    name = kind = "streams"
    lease_per_job = False
    every: float | None = None

    @property
    def source(self) -> Source:
        """The Lua prelude."""
        return load("streams", "jobkit.ready")

    def scan(self, redis: Any, keys: Keys) -> tuple[set[bytes], str]:
        """Return the ids of all jobs in the streams, and how far was read (for `adopt.lua`)."""
        ids: set[bytes] = set()
        seen = []
        for stream in (keys.ready, keys.alone):
            last = "0-0"
            while page := redis.xrange(stream, min=f"({last}", count=PAGE):
                ids.update(fields[b"id"] for _, fields in page)
                last = page[-1][0].decode()
            seen.append(last)
        return ids, " ".join(seen)
