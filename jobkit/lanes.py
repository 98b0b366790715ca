"""Reading the lanes: who waits behind another job of its entity, and which lanes stand still.

`lanes.lua` keeps the order; this is for `repair`, which looks from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from jobkit.keys import Keys

PAGE = 1000
"""Members that are read at a time."""
PLACE = 16
"""The digits of a place."""


class Waiting(NamedTuple):
    """One that waits, and for whom."""

    entity: bytes
    id: bytes


def waiting(redis: Any, keys: Keys) -> Iterator[list[Waiting]]:
    """Yield, some at a time, all who wait, the jobs of an entity in their order."""
    after = b"-"
    while page := redis.zrange(keys.waiting, after, "+", bylex=True, offset=0, num=PAGE):
        yield [_read(member) for member in page]
        after = b"(" + page[-1]


def _read(member: bytes) -> Waiting:
    """Take a member apart: `<bytes>:<entity>:<place>:<id>`."""
    size, _, rest = member.partition(b":")
    end = int(size)
    return Waiting(rest[:end], rest[end + PLACE + 2 :])


def without_head(redis: Any, keys: Keys) -> Iterator[list[bytes]]:
    """Yield, some at a time, the entities for which jobs wait while nobody is at the head, as far as one can tell."""
    last = None
    for page in waiting(redis, keys):
        entities = [entity for entity in dict.fromkeys(one.entity for one in page) if entity != last]
        last = page[-1].entity
        heads = redis.hmget(keys.lanes, entities) if entities else []
        pipe = redis.pipeline(transaction=False)
        for head in heads:
            pipe.hmget(keys.job.encode() + (head or b""), "task", "state")
        over = {b"done", b"dead", b"cancelled"}
        yield [
            entity
            for entity, (task, state) in zip(entities, pipe.execute(), strict=True)
            if task is None or state in over
        ]
