"""Finding jobs that fell out of every structure.

No script can lose a job, but a server can: a stream or a list deleted by hand, evicted under
`allkeys-lru`, or gone with the last second before a failover. The records remain, and tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobkit import lanes
from jobkit.connect import node_of
from jobkit.keys import Keys
from jobkit.ready import Store

PAGE = 500


def repair(
    redis: Any,
    keys: Keys,
    store: Store,
    adopt: Callable[[bytes, str], bool],
    resume: Callable[[list[bytes]], list[bytes]],
) -> list[str]:
    """Call `adopt(id, seen)` for each record that may have lost its place; return the ids that it adopted.

    Then each lane is at rest or has its head, if there is one left: `resume(entities)` sets the others
    going, and returns the ids of their new heads.

    `seen` is how far the store was read before: a job may move meanwhile, so `adopt.lua` looks
    through what came in since. What it adopts comes in, too, so now and then the store is read anew.
    """
    adopted: list[str] = []
    held, seen = _held(redis, keys, store)
    since = 0
    for page in pages(redis, keys):
        if since >= PAGE:
            (held, seen), since = _held(redis, keys, store), 0
        found = [job_id.decode() for job_id in _unplaced(redis, keys, page, held) if adopt(job_id, seen)]
        since += len(found)
        adopted += found
    for page in lanes.without_head(redis, keys):
        adopted += [job_id.decode() for job_id in (resume(page) if page else []) if job_id.decode() not in adopted]
    return adopted


def _held(redis: Any, keys: Keys, store: Store) -> tuple[set[bytes], str]:
    """Return the ids of all who stand in the ready store or in a lane, and how far the store was read."""
    held, seen = store.scan(redis, keys)
    for page in lanes.waiting(redis, keys):
        held.update(one.id for one in page)
    return held, seen


def pages(redis: Any, keys: Keys) -> Iterator[list[bytes]]:
    """Yield the ids of all records, some at a time."""
    prefix = keys.job.encode()
    pattern = b"".join(b"\\%c" % c if c in b"*?[]\\^-" else b"%c" % c for c in prefix) + b"*"
    page: list[bytes] = []
    for record in redis.scan_iter(match=pattern, count=PAGE, **node_of(redis, prefix)):
        page.append(record[len(prefix) :])
        if len(page) == PAGE:
            yield page
            page = []
    yield page


def _unplaced(redis: Any, keys: Keys, ids: list[bytes], held: set[bytes]) -> Iterator[bytes]:
    """Yield the ids that no structure holds, as far as one can tell from here."""
    pipe = redis.pipeline(transaction=False)
    for job_id in ids:
        pipe.hmget(keys.job.encode() + job_id, "state", "entity")
        pipe.zscore(keys.delayed, job_id)
        pipe.zscore(keys.dead, job_id)
    answers = pipe.execute()
    heads = _headless(redis, keys, {entity for (state, entity) in answers[::3] if entity and state is None})
    for job_id, (state, entity), due, buried in zip(ids, answers[::3], answers[1::3], answers[2::3], strict=True):
        waiting = state is None and due is None and job_id not in held
        skipped = state in {b"cancelled", b"waiting"} and job_id not in held
        headless = state is None and entity in heads
        if state == b"running" or waiting or skipped or headless or (state == b"dead" and buried is None):
            yield job_id


def _headless(redis: Any, keys: Keys, entities: set[bytes]) -> set[bytes]:
    """Return those of whose lanes no head is known."""
    heads = redis.hmget(keys.lanes, list(entities)) if entities else []
    return {entity for entity, head in zip(entities, heads, strict=True) if head is None}
