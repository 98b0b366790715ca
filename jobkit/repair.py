"""Finding jobs that fell out of every structure.

No script can lose a job, but a server can: a stream or a list deleted by hand, evicted under
`allkeys-lru`, or gone with the last second before a failover. The records remain, and tell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from jobkit.keys import Keys
from jobkit.ready import Store

PAGE = 500


def repair(redis: Any, keys: Keys, store: Store, adopt: Callable[[bytes, str], bool]) -> list[str]:
    """Call `adopt(id, seen)` for each record that may have lost its place; return the ids that it adopted.

    `seen` is how far the store was read before: a job may move meanwhile, so `adopt.lua` looks
    through what came in since. What it adopts comes in, too, so now and then the store is read anew.
    """
    adopted: list[str] = []
    held, seen = store.scan(redis, keys)
    since = 0
    for page in _pages(redis, keys):
        if since >= PAGE:
            (held, seen), since = store.scan(redis, keys), 0
        found = [job_id.decode() for job_id in _unplaced(redis, keys, page, held) if adopt(job_id, seen)]
        since += len(found)
        adopted += found
    return adopted


def _pages(redis: Any, keys: Keys) -> Iterator[list[bytes]]:
    """Yield the ids of all records, some at a time."""
    prefix = keys.job.encode()
    pattern = b"".join(b"\\%c" % c if c in b"*?[]\\^-" else b"%c" % c for c in prefix) + b"*"
    page: list[bytes] = []
    for record in redis.scan_iter(match=pattern, count=PAGE):
        page.append(record[len(prefix) :])
        if len(page) == PAGE:
            yield page
            page = []
    yield page


def _unplaced(redis: Any, keys: Keys, ids: list[bytes], held: set[bytes]) -> Iterator[bytes]:
    """Yield the ids that no structure holds, as far as one can tell from here."""
    pipe = redis.pipeline(transaction=False)
    for job_id in ids:
        pipe.hget(keys.job.encode() + job_id, "state")
        pipe.zscore(keys.delayed, job_id)
        pipe.zscore(keys.dead, job_id)
    answers = pipe.execute()
    for job_id, state, due, buried in zip(ids, answers[::3], answers[1::3], answers[2::3], strict=True):
        waiting = state is None and due is None and job_id not in held
        skipped = state == b"cancelled" and job_id not in held
        if state == b"running" or waiting or skipped or (state == b"dead" and buried is None):
            yield job_id
