"""Shards: one queue as several, so that its jobs are spread over several streams, workers and nodes of a cluster.

A shard is an ordinary queue, with a hash tag of its own. Which one a job is in follows from its id
alone, so there is one place to look, and the record there is the dedup mark as ever.
"""

from __future__ import annotations

import heapq
import itertools
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from random import Random
from typing import Any

from jobkit.answers import Counts, DeadLetter, Promoted, Recovered, Submitted
from jobkit.clock import Seconds, new_rng
from jobkit.connect import AnyRedis, check_client, usable
from jobkit.errors import JobError, WrongState
from jobkit.history import Event
from jobkit.job import Claim, Job, State, check_id
from jobkit.keys import route, shard
from jobkit.queue import Queue
from jobkit.ready import Store, Streams
from jobkit.ready.sharded import Sharded
from jobkit.sidebyside import one_by_one
from jobkit.stats import Stats
from jobkit.submission import New, whole

log = logging.getLogger("jobkit.queue")

MOST = 1024
"""The most shards of a queue."""


class ShardedQueue:
    """A queue in `shards` parts, each an ordinary `Queue` named `<name>:shard-<k>`; its settings are theirs.

    A job without an entity is in the shard of its id, one with an entity in the entity's: there its
    lane keeps the order. An id of your own for a job with an entity carries it in braces,
    `{ada}order-17`, else JobError is raised: so no id can be in two shards. The server remembers how
    many shards there are; a process that names another number gets ConfigError.
    """

    def __init__(
        self,
        redis: AnyRedis,
        name: str,
        *,
        shards: int,
        ready: Store | None = None,
        rng: Random | None = None,
        **settings: Any,
    ) -> None:
        self._rng, self._settings = rng or new_rng(), settings
        check_client(redis)
        self.redis: Any = usable(redis)
        self.name = name
        self._store = ready or Streams()
        store = Sharded(self._store, whole(shards, "shards", 1, MOST))
        self.shards = tuple(
            Queue(self.redis, f"{name}:shard-{k}", ready=store, rng=self._rng, **settings) for k in range(shards)
        )
        first = self.shards[0]
        self.store, self.clock, self.lease_ms = store, first.clock, first.lease_ms
        self._opened = False
        self._turn = itertools.count()

    def __repr__(self) -> str:
        return f"ShardedQueue({self.name!r}, {len(self.shards)} shards, {self.store.name})"

    def of(self, id: str) -> Queue:
        """Return the shard of a job's id."""
        return self.shards[shard(route(check_id(id)), len(self.shards))]

    def of_entity(self, entity: str) -> Queue:
        """Return the shard of an entity's jobs."""
        return self.shards[shard(entity, len(self.shards))]

    def agree(self) -> None:
        """Raise ConfigError if the server has another number of shards, or another ready store."""
        for part in self.shards:
            part.agree()

    # -- in ------------------------------------------------------------------

    def submit(
        self,
        task: str,
        args: Mapping[str, Any] | bytes | None = None,
        *,
        delay: Seconds = 0,
        at: datetime | None = None,
        id: str | None = None,
        priority: int = 0,
        entity: str | None = None,
        max_attempts: int | None = None,
        lease: Seconds | None = None,
    ) -> Submitted:
        """Submit a job, as `Queue.submit` does."""
        return self.submit_many([New(task, args, delay, at, id, priority, entity, max_attempts, lease)])[0]

    def submit_many(self, jobs: Iterable[New]) -> list[Submitted]:
        """Submit many jobs; all are checked before the first is written. Each shard takes its own in steps of 500."""
        jobs = list(jobs)
        rows = self.shards[0].check(jobs, [self._fresh_id(job) for job in jobs])
        for job in jobs:
            if job.id is not None and job.entity is not None and route(job.id) != job.entity:
                raise JobError(
                    f"in a sharded queue the id of a job with an entity carries it in braces, such as "
                    f"'{{{job.entity}}}{job.id}', so that the id alone says where the job is; got {job.id!r}"
                )
        nonce, submitted = self.shards[0].nonce(jobs), dict[str, Submitted]()
        self._open()
        for part, own in self._apart(row[0] for row in rows):
            wanted = set(own)
            submitted |= {one.id: one for one in part.send([row for row in rows if row[0] in wanted], nonce)}
        return [submitted[row[0]] for row in rows]

    def _fresh_id(self, job: New) -> str:
        """Draw an id; for a job with an entity, until it falls into the entity's shard."""
        while True:
            (id,) = self.shards[0].fresh_ids(1)
            if job.entity is None or job.id is not None or self.of(id) is self.of_entity(job.entity):
                return id

    def _open(self) -> None:
        """Write the layout to all shards before the first job comes; the first one decides between two that differ."""
        if not self._opened:
            for part in self.shards:
                part.open()
            self._opened = True

    def _apart(self, ids: Iterable[str]) -> Iterator[tuple[Queue, list[str]]]:
        """Yield the shards of some ids, each with its own, in their order."""
        own: dict[Queue, list[str]] = {}
        for id in ids:
            own.setdefault(self.of(id), []).append(id)
        yield from own.items()

    # -- the scheduler's, and the worker's -------------------------------------

    def promote(self, limit: int = 100) -> Promoted:
        """Move up to `limit` due jobs of each shard to its ready store."""
        answers = one_by_one(self.shards, lambda part: part.promote(limit), log)
        return Promoted(sum(a.moved for a in answers), _least(a.wait for a in answers))

    def recover(self, limit: int = 100) -> Recovered:
        """Take back up to `limit` jobs of each shard whose lease is over."""
        answers = one_by_one(self.shards, lambda part: part.recover(limit), log)
        return Recovered(sum(a.ready for a in answers), sum(a.dead for a in answers))

    def claim(self, worker: str, limit: int = 1) -> list[Claim]:
        """Take up to `limit` ready jobs, of one shard after the other; each call begins with the next shard.

        One that cannot be reached is passed over: what others handed out is not to be lost with it.
        """
        first, claims = next(self._turn) % len(self.shards), list[Claim]()

        def take(shard: Queue) -> None:
            if len(claims) < limit:
                claims.extend(shard.claim(worker, limit - len(claims)))

        one_by_one(self.shards[first:] + self.shards[:first], take, log)
        return claims

    def ack(self, claim: Claim) -> None:
        """Say that a job is done. Raises StaleClaim."""
        self.of(claim.id).ack(claim)

    def fail(self, claim: Claim, error: BaseException | str, *, delay: Seconds = 0, permanent: bool = False) -> State:
        """Say that a run failed, as `Queue.fail`. Raises StaleClaim."""
        return self.of(claim.id).fail(claim, error, delay=delay, permanent=permanent)

    def refuse(self, claim: Claim, error: BaseException | str) -> State:
        """Bury a job that nobody here can run. Raises StaleClaim."""
        return self.of(claim.id).refuse(claim, error)

    def extend(self, claim: Claim) -> bool:
        """Keep a job for another lease; returns whether a cancel was requested. Raises StaleClaim."""
        return self.of(claim.id).extend(claim)

    def release(self, claim: Claim) -> State:
        """Give a job back, ready and uncharged. Raises StaleClaim."""
        return self.of(claim.id).release(claim)

    # -- anybody's -------------------------------------------------------------

    def cancel(self, id: str) -> str:
        """Cancel a job, as `Queue.cancel`. Raises WrongState, UnknownJob."""
        return self.of(id).cancel(id)

    def get(self, id: str) -> Job:
        """Read a job. Raises UnknownJob."""
        return self.of(id).get(id)

    def history(self, id: str) -> list[Event]:
        """Return what happened to a job, oldest first. Raises UnknownJob."""
        return self.of(id).history(id)

    def counts(self) -> Counts:
        """Count the jobs per state, of all shards together: each at one instant, one after the other."""
        each = [part.counts() for part in self.shards]
        levels = ("scheduled", "waiting", "ready", "running", "dead")
        totals: Counter[str] = Counter()
        for counts in each:
            totals.update(counts.totals)
        sums = {level: sum(getattr(counts, level) for counts in each) for level in levels}
        return Counts(**sums, wait=_least(counts.wait for counts in each), totals=dict(totals))

    def stats(self) -> Stats:
        """Measure all shards together: of their ages the greatest holds. `Meter(queue.shards)` has a line for each."""
        return Stats.sum([part.stats() for part in self.shards], self.name)

    def dead(self, limit: int = 20, offset: int = 0) -> list[DeadLetter]:
        """List dead letters of all shards, the newest first."""
        whole(offset, "offset", 0, 10**9)
        each = [part.dead(offset + limit) for part in self.shards]
        newest = heapq.merge(*each, key=lambda letter: letter.buried, reverse=True)
        return list(itertools.islice(newest, offset, offset + limit))

    def requeue(self, *ids: str, over: Seconds = 0) -> dict[str, str]:
        """Give dead letters another life, as `Queue.requeue`; without any id ALL of all shards."""
        if not ids:
            return {id: answer for part in self.shards for id, answer in part.requeue(over=over).items()}
        answers: dict[str, str] = {}
        for part, own in self._apart(ids):
            answers |= part.requeue(*own, over=over)
        return {id: answers[id] for id in ids}

    def purge(self, *ids: str, older_than: Seconds | None = None) -> int:
        """Drop dead letters for good, as `Queue.purge`; without any id ALL of all shards. Returns how many."""
        if not ids:
            return sum(part.purge(older_than=older_than) for part in self.shards)
        return sum(part.purge(*own) for part, own in self._apart(ids))

    def tidy(self, idle: Seconds | None = None) -> None:
        """Tidy every shard, as `Queue.tidy`."""
        for part in self.shards:
            part.tidy(idle)

    def repair(self) -> list[str]:
        """Put back what has no place, in every shard, as `Queue.repair`."""
        return [id for part in self.shards for id in part.repair()]

    # -- another number of shards ------------------------------------------------

    def resize(self, shards: int, *, forget: bool = False) -> ShardedQueue:
        """Return the queue with another number of shards; only one that is empty can be resized.

        Each shard is closed in one step, if it holds no job and no dead letter, and from then on
        nobody can put one into it; when all are closed, the new ones are opened. Called again, it goes
        on where it was interrupted. Raises WrongState, and opens again what it closed, if any is not
        empty, or still knows a finished job's id, which the new layout could take twice; with
        `forget`, those ids may be used anew.
        """
        resized = ShardedQueue(self.redis, self.name, shards=shards, ready=self._store, rng=self._rng, **self._settings)
        for part in self.shards:
            left = part.close(resized.store.kind)
            if left or not (forget or part.forgotten()):
                why = f"holds {left} jobs or dead letters" if left else "keeps the records of finished jobs for a while"
                for closed in self.shards:
                    closed.open(resized=True)
                raise WrongState(f"{part!r} {why}: {self!r} can't be resized now")
        for part in reversed(resized.shards):  # the first one last: until then the queue is closed to all
            part.open(resized=True)
        return resized


def _least(waits: Iterable[float | None]) -> float | None:
    return min((wait for wait in waits if wait is not None), default=None)
