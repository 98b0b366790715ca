"""Finding jobs that fell out of every structure.

No script can lose a job, but a server can: a stream deleted by hand, evicted under
`allkeys-lru`, or gone with the last second before a failover. The records remain, and tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jobkit.keys import Keys
from jobkit.ready import Streams

PAGE = 500


def suspects(redis: Any, keys: Keys, store: Streams) -> Iterator[tuple[bytes, str]]:
    """Yield (id, how far the store was read) for each record that may have lost its place.

    A job may move while this reads, so each suspect is looked at again by `adopt.lua`.
    """
    held, seen = store.scan(redis, keys)
    prefix = keys.job.encode()
    pattern = b"".join(b"\\%c" % c if c in b"*?[]\\^-" else b"%c" % c for c in prefix) + b"*"
    page: list[bytes] = []
    for record in redis.scan_iter(match=pattern, count=PAGE):
        page.append(record[len(prefix) :])
        if len(page) == PAGE:
            yield from _unplaced(redis, keys, page, held, seen)
            page = []
    yield from _unplaced(redis, keys, page, held, seen)


def _unplaced(redis: Any, keys: Keys, ids: list[bytes], held: set[bytes], seen: str) -> Iterator[tuple[bytes, str]]:
    pipe = redis.pipeline(transaction=False)
    for job_id in ids:
        pipe.hget(keys.job.encode() + job_id, "state")
        pipe.zscore(keys.delayed, job_id)
    answers = pipe.execute()
    for job_id, state, score in zip(ids, answers[::2], answers[1::2], strict=True):
        waiting = state is None and score is None and job_id not in held
        skipped = state == b"cancelled" and job_id not in held
        if state == b"running" or waiting or skipped:
            yield job_id, seen
