"""Exactly once in effect, for effects that Redis holds.

A job may run twice: its worker can die after the work and before the ack. So the work must be
such that twice counts as once. In Redis that takes one step for the effect and the mark that says
it is applied:

    mark, then effect      a crash between them: marked, never applied
    effect, then mark      a crash between them: applied twice
    both in one script     applied once

For an effect elsewhere (a payment, a mail) there is no such step. Hand the other side the job's
`idempotency_key`, the same for every run of the job, and let it keep the mark. Without its help,
nobody can promise more than at least once, or at most once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis.crc import key_slot

from jobkit.errors import JobError, StaleClaim
from jobkit.job import Claim
from jobkit.queue import Queue
from jobkit.scripts import evaluate, load, sha
from jobkit.shards import ShardedQueue

Effect = Sequence[str | bytes | int | float]
"""A Redis command whose first argument is its key: ("INCRBY", key, 5)."""


def once(queue: Queue | ShardedQueue, job: Claim, *effects: Effect, name: str = "effect") -> bool:
    """Apply Redis commands once per job, whatever becomes of its runs; False if an earlier run did.

    Each effect is a command whose first argument is its one key, such as ("INCRBY", key, 5); keys
    carry the queue's hash tag, see `effect_key`. All of them and the mark are one step. A job with
    several effects at different moments gives each a `name`. The mark is kept in the job's
    record, as long as that lives.

    Raises StaleClaim if the claim is not the newest one; JobError for an effect of another shape.
    A command that Redis refuses (a wrong type) raises ResponseError: it and those after it are
    not applied, nor marked; those before it are.
    """
    queue = queue.of(job.id)
    keys: list[Any] = [queue.keys.job + job.id]
    words: list[Any] = []
    for effect in effects:
        command, key, *rest = _checked(effect, queue)
        keys.append(key)
        words += [1 + len(rest), command, *rest]
    if not words:
        raise JobError("once needs an effect, such as ('INCRBY', key, 5)")
    script = load("once").text
    answer = evaluate(queue.redis, script, sha(script), [len(keys), *keys, job.token, f"once:{name}", *words])
    if answer == b"stale":
        raise StaleClaim(f"the effect of {job.id!r} with token {job.token} refused: another claim is newer")
    return bool(answer == b"applied")


def effect_key(queue: Queue | ShardedQueue, name: str) -> str:
    """Return a key beside the queue's own, for what `once` changes: on a cluster, one node holds both.

    Of a sharded queue, beside the shard of the job whose id is `name`.
    """
    one = queue.of(name)
    return f"{one.keys.prefix}{{{one.name}}}:effect:{name}"


def _checked(effect: Effect, queue: Queue) -> list[Any]:
    shape = isinstance(effect, (list, tuple)) and len(effect) >= 2 and isinstance(effect[0], str)
    if not shape or not isinstance(effect[1], (str, bytes)):
        raise JobError(f"an effect is a command and its key, such as ('INCRBY', key, 5); got {effect!r}")
    if key_slot(_bytes(effect[1])) != key_slot(_bytes(queue.keys.job)):
        raise JobError(f"the key {effect[1]!r} must carry the queue's hash tag {{{queue.name}}}: see effect_key")
    return list(effect)


def _bytes(key: str | bytes) -> bytes:
    return key.encode() if isinstance(key, str) else key
