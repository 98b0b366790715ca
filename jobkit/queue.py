"""The queue: every change of a job's state. One method is one Lua file of the same name.

    submit    -> scheduled, or ready if it is due     claim    ready -> running
    promote   scheduled -> ready                      ack      running -> done
    recover   running -> ready, its lease is over     fail     running -> scheduled, or dead
    cancel    -> cancelled                            extend   running, for another lease
    requeue   dead -> scheduled                       release  running -> ready, uncharged

Each is one step on the server. All but `claim` may be sent again after a lost reply, and then
answer as they did: the client does so by itself.
"""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from random import Random
from typing import Any

import redis as redis_py

from jobkit import deadletters, history, repair
from jobkit.answers import Counts, DeadLetter, Promoted, Recovered, Submitted
from jobkit.clock import Clock, Seconds, new_rng, to_ms
from jobkit.connect import AnyRedis, check_client, check_memory, usable, without_retries
from jobkit.errors import JobError, StaleClaim, UnknownJob, WrongState
from jobkit.job import Claim, Job, State, check_id, check_text
from jobkit.keys import Keys
from jobkit.ready import Store, Streams
from jobkit.scripts import Arg, Scripts
from jobkit.stats import Stats
from jobkit.submission import LEAST_LEASE, MOST_ATTEMPTS, New, Row, whole

MOST = 1000
"""The largest limit: Redis serves nobody else while a script runs, so each is kept short."""

CHUNK = 500
"""Jobs in one call of a script: `submit_many` and `requeue` make as many calls as they need."""

Piece = Callable[[redis_py.Redis, Keys, int], Iterable[str | bytes]]
"""A lesson's own `promote` or `take`: (redis, keys, limit) -> the ids that it moved."""


class Queue:
    """A queue of delayed jobs on Redis.

    `ready` is its ready store: `Streams()`, `Lists()` or `Leases()`. The server remembers which, and
    a process that names another raises ConfigError at its first call. `lease`, `retention` (of the
    records of finished jobs) and `dead_age` are seconds. These are not kept on the server: all
    processes of a queue must name the same ones, its schedulers above all, since with streams
    whoever recovers judges by its own `lease` (with the other stores, by the claim's).
    `promote=` and `take=` replace a piece by a lesson's own (see `Piece`). `rng` makes ids and
    nonces; seed it, and they repeat. Raises ConfigError for a client that cannot work.
    """

    def __init__(
        self,
        redis: AnyRedis,
        name: str,
        *,
        ready: Store | None = None,
        lease: Seconds = 30,
        max_attempts: int = 5,
        retention: Seconds = 3600,
        dead_max: int = 10_000,
        dead_age: Seconds = 30 * 86_400,
        history_max: int = 10,
        promote: Piece | None = None,
        take: Piece | None = None,
        rng: Random | None = None,
    ) -> None:
        check_client(redis)
        self.redis: Any = usable(redis)  # one server's, or a cluster's: redis-py has no common type
        self.name = name
        self.keys = Keys(name, getattr(redis, "prefix", ""))
        self.clock: Clock = getattr(redis, "clock", None) or Clock()
        self.store: Store = ready or Streams()
        self.lease_ms = to_ms(lease, "lease", least=LEAST_LEASE)
        self.max_attempts = whole(max_attempts, "max_attempts", 1, MOST_ATTEMPTS)
        self._rng = rng or new_rng()
        self._promote, self._take = promote, take
        self._once = without_retries(self.redis)  # a claim is never sent twice: it would hand out twice
        self._limits = {"dead_max": whole(dead_max, "dead_max", 0, 10**9), "dead_ms": to_ms(dead_age, "dead_age")}
        self._scripts = Scripts(
            self.keys,
            self.store.source,
            self.store.kind,
            self._limits
            | {
                "lease_ms": self.lease_ms,
                "retention_ms": to_ms(retention, "retention", least=1000),
                "history": whole(history_max, "history_max", 1, 1000),
            },
        )

    def __repr__(self) -> str:
        return f"Queue({self.keys.prefix + self.name!r}, {self.store.name})"

    def agree(self) -> None:
        """Raise ConfigError if the queue has another ready store on the server; one that cannot tell is none.

        Warns of a server that evicts keys.
        """
        with contextlib.suppress(redis_py.RedisError):
            self.counts()
        check_memory(self.redis)

    def call(self, name: str, /, *rest: Arg, **named: Arg) -> Any:
        """Run one of the kit's scripts on this queue: for the parts that stand beside it."""
        return self._scripts.call(self.redis, name, *rest, **named)

    def of(self, id: str) -> Queue:  # noqa: ARG002 - of a ShardedQueue it is one of several
        """Return the queue that a job of this id is in: this one."""
        return self

    def open(self, *, resized: bool = False) -> None:
        """Write down which store this is, before the first job comes; also if it was closed, to be `resized`."""
        self._scripts.call(self.redis, "open", resized=int(resized))

    def close(self, target: str) -> int:
        """Let nobody put a job into this shard any more, if it is empty; else return how many are left.

        `target` is the kind of the shards that are to come: one that is there is closed to the old layout.
        """
        answer = self._scripts.call(self.redis, "close", target=target)
        return 0 if answer == b"closed" else int(answer)

    def forgotten(self) -> bool:
        """Whether no record is left, not even that of a finished job. Reads by SCAN."""
        return not any(repair.pages(self.redis, self.keys))

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
        """Submit a job: to be run by the handler of `task`, in `delay` seconds or `at` an aware datetime.

        What is not in the future (0, a negative delay, a moment that has passed) means now.
        `args` are the handler's keyword arguments (kept as JSON), or bytes. An `id` of your own
        makes the job unique: while its record lives, a second submit changes nothing and says in
        which state the first one is. Jobs of one `entity` run one at a time, in the order of their
        submission: a job is WAITING while one before it is not over. `priority` is from 0 to 9, 9 the
        most urgent: the store `Lists` obeys it. `lease` is seconds, a lease of the job's own: the store
        `Leases` keeps one per job.
        Raises JobError or DelayError before anything is written.
        """
        return self.submit_many([New(task, args, delay, at, id, priority, entity, max_attempts, lease)])[0]

    def submit_many(self, jobs: Iterable[New]) -> list[Submitted]:
        """Submit many jobs; all are checked before the first is written, 500 go in one step."""
        jobs = list(jobs)
        return self.send(self.check(jobs, self.fresh_ids(len(jobs))), self.nonce(jobs))

    def check(self, jobs: list[New], fresh: list[str]) -> list[Row]:
        """Return jobs as `submit.lua` takes them; `fresh` are ids for those that have none. Raises as `submit`."""
        now = self.clock.now()
        if not self.store.lease_per_job and any(job.lease is not None for job in jobs):
            raise JobError(f"{self!r} has one lease for all its jobs: a lease per job is what the store Leases keeps")
        rows = [job.row(job_id, self.max_attempts, now) for job, job_id in zip(jobs, fresh, strict=True)]
        own = [job.id for job in jobs if job.id is not None]
        if len(own) != len(set(own)):
            raise JobError("the same id stands twice in one submit_many")
        return rows

    def nonce(self, jobs: list[New]) -> bytes:
        """Return what tells this call from others, if any of its jobs has an id of its own."""
        own = any(job.id is not None for job in jobs)
        return self._rng.getrandbits(64).to_bytes(8, "big") if own else b""

    def send(self, rows: list[Row], nonce: bytes) -> list[Submitted]:
        """Submit jobs that are checked; 500 go in one step."""
        submitted = []
        for start in range(0, len(rows), CHUNK):
            chunk = rows[start : start + CHUNK]
            flat = [value for row in chunk for value in row]
            answers = self._scripts.call(self.redis, "submit", *flat, nonce=nonce)
            for row, answer in zip(chunk, answers, strict=True):
                made, state = answer.decode().split()
                submitted.append(Submitted(row[0], made == "created", State(state)))
        return submitted

    def fresh_ids(self, n: int) -> list[str]:
        """Return ids of 72 random bits, 12 characters: two of a billion live jobs meet once in 10,000 such queues."""
        text = base64.b64encode(self._rng.randbytes(9 * n), altchars=b"_.").decode()  # 9 bytes make 12, no padding
        return [text[start : start + 12] for start in range(0, len(text), 12)]

    # -- the scheduler's two ---------------------------------------------------

    def promote(self, limit: int = 100) -> Promoted:
        """Move up to `limit` due jobs to the ready store."""
        moved, limit = 0, _limit(limit)
        if self._promote is not None:
            moved = len(list(self._promote(self.redis, self.keys, limit)))
            if moved:
                self.redis.publish(self.keys.bell, "ready")
        more, wait = self._scripts.call(self.redis, "promote", limit=0 if self._promote else limit)
        return Promoted(moved + more, None if wait < 0 else wait / 1000)

    def recover(self, limit: int = 100) -> Recovered:
        """Take back up to `limit` jobs whose lease is over; those at their last attempt are buried."""
        ready, dead, cursor, limit = 0, 0, b"", _limit(limit)
        while True:
            more, buried, cursor = self._scripts.call(self.redis, "recover", limit=limit - ready - dead, cursor=cursor)
            ready, dead = ready + more, dead + buried
            if not cursor or ready + dead >= limit:
                return Recovered(ready, dead)

    # -- the worker's ----------------------------------------------------------

    def claim(self, worker: str, limit: int = 1) -> list[Claim]:
        """Take up to `limit` ready jobs for `worker`; each is an attempt from now on.

        Never sent twice: a lost reply costs what a crash costs, one lease and one attempt.
        """
        return self.ack_and_claim([], worker, limit)[1]

    def ack(self, claim: Claim) -> None:
        """Say that a job is done. Raises StaleClaim if it is not this claim's any more."""
        self._one("ack", claim)

    def ack_and_claim(self, done: list[Claim], worker: str, limit: int = 1) -> tuple[list[str], list[Claim]]:
        """Ack what is done, and claim the next, in one step; returns an answer per ack (as `each`), and the claims."""
        ids: list[bytes] = []
        check_text(worker, "a worker's name")
        answers = self.each("ack", done[:-CHUNK])
        done, limit = done[-CHUNK:], _limit(limit)
        if self._take is not None:
            ids = [i if isinstance(i, bytes) else i.encode() for i in self._take(self.redis, self.keys, limit)]
            if not ids:
                return answers + self.each("ack", done), []
        take: dict[str, Any] = {"worker": worker, "limit": limit}
        while True:
            if done:
                acks, reply = self._scripts.together(self._once, ("ack", _pairs(done), {}), ("claim", ids, take))
                answers, done = answers + [answer.decode() for answer in acks], []
            else:
                reply = self._scripts.call(self._once, "claim", *ids, **take)
            claims = [Claim.of_reply(fields, worker) for fields in reply[1:]]
            # All that it took was cancelled: there may be more behind, and no bell will tell.
            if claims or not reply[0] or self._take is not None:
                return answers, claims

    def fail(self, claim: Claim, error: BaseException | str, *, delay: Seconds = 0, permanent: bool = False) -> State:
        """Say that a run failed: SCHEDULED again in `delay` seconds, DEAD at the last attempt or if `permanent`.

        CANCELLED if that was requested meanwhile. Raises StaleClaim if it is not this claim's any more.
        """
        return self._fail(claim, error, -1 if permanent else to_ms(delay))

    def refuse(self, claim: Claim, error: BaseException | str) -> State:
        """Bury a job that nobody here can run; that was no attempt. Raises as `fail`."""
        return self._fail(claim, error, -2)

    def _fail(self, claim: Claim, error: BaseException | str, delay_ms: int) -> State:
        if not isinstance(error, (BaseException, str)):
            raise JobError(f"a run fails with an exception, or with words; got {error!r:.100}")
        answer = self._scripts.call(
            self.redis, "fail", id=claim.id, token=claim.token, delay_ms=delay_ms, error=history.describe(error)
        ).decode()
        if answer not in _AFTER_FAIL:
            raise StaleClaim(_stale(claim, "fail", answer))
        return _AFTER_FAIL[answer]

    def extend(self, claim: Claim) -> bool:
        """Keep a job for another lease; returns whether a cancel was requested. Raises StaleClaim."""
        return self._one("extend", claim) == "cancel"

    def release(self, claim: Claim) -> State:
        """Give a job back, ready and uncharged (CANCELLED if that was requested). Raises StaleClaim."""
        return State(self._one("release", claim))

    def each(self, verb: str, claims: list[Claim]) -> list[str]:
        """Run `ack`, `extend` or `release` for many claims of one worker, 500 in one step; returns the answers."""
        if verb not in _GOOD:
            raise JobError(f"each does {', '.join(_GOOD)}; got {verb!r}")
        answers: list[str] = []
        for start in range(0, len(claims), CHUNK):
            chunk = claims[start : start + CHUNK]
            named: dict[str, str] = {"worker": chunk[0].worker} if verb == "extend" else {}
            answers += [answer.decode() for answer in self._scripts.call(self.redis, verb, *_pairs(chunk), **named)]
        return answers

    def _one(self, verb: str, claim: Claim) -> str:
        answer = self.each(verb, [claim])[0]
        if answer not in _GOOD[verb]:
            raise StaleClaim(_stale(claim, verb, answer))
        return answer

    # -- anybody's -------------------------------------------------------------

    def cancel(self, id: str) -> str:
        """Cancel a job: 'cancelled', or 'requested' if it runs (its handler learns at the next heartbeat).

        Raises WrongState if it is done or dead, UnknownJob if there is none.
        """
        answer: str = self._scripts.call(self.redis, "cancel", id=check_id(id)).decode()
        if answer == "missing":
            raise UnknownJob(f"no job {id!r} in {self!r}")
        if answer not in ("cancelled", "requested"):
            raise WrongState(f"job {id!r} is {answer}: too late to cancel it")
        return answer

    def get(self, id: str) -> Job:
        """Read a job. Raises UnknownJob."""
        record, place = self._record(id)
        return Job.of_record(id, record, place)

    def history(self, id: str) -> list[history.Event]:
        """Return what happened to a job, oldest first. Raises UnknownJob."""
        return history.events(self._record(id)[0])

    def _record(self, id: str) -> tuple[dict[bytes, bytes], bytes]:
        place, *flat = self._scripts.call(self.redis, "get", id=check_id(id))
        if not flat:
            raise UnknownJob(f"no job {id!r} in {self!r}")
        return dict(zip(flat[::2], flat[1::2], strict=True)), place

    def counts(self) -> Counts:
        """Count the jobs per state, all at one instant."""
        return Counts.of_reply(self._scripts.call(self.redis, "counts"))

    def stats(self) -> Stats:
        """Count them as `counts` does, and say how long they wait and how late they start, all at one instant."""
        counts, found = self._scripts.together(self.redis, ("counts", (), {}), ("stats", (), {}))
        return Stats.of_replies(self.name, counts, found)

    # -- dead letters, and what has no place ------------------------------------

    def dead(self, limit: int = 20, offset: int = 0) -> list[DeadLetter]:
        """List dead letters, the newest first."""
        return deadletters.page(self.redis, self.keys, _limit(limit), whole(offset, "offset", 0, 10**9))

    def requeue(self, *ids: str, over: Seconds = 0) -> dict[str, str]:
        """Give dead letters another life, spread evenly over `over` seconds. Without any id: ALL of them.

        So look first whether a list of ids that you unpack is empty. Payload and history stay,
        attempts start anew. Returns an answer per id: 'requeued', the state of a job that is not
        dead, or 'missing'.
        """
        wanted = [check_id(id) for id in ids] or deadletters.ids(self.redis, self.keys)
        step = to_ms(over, "over") / max(1, len(wanted))
        nonce = self._rng.getrandbits(64).to_bytes(8, "big")
        answers: dict[str, str] = {}
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            pairs = [value for n, id in enumerate(chunk, start) for value in (id, round(n * step))]
            got = self._scripts.call(self.redis, "requeue", *pairs, nonce=nonce)
            answers |= zip(chunk, (answer.decode() for answer in got), strict=True)
        return answers

    def purge(self, *ids: str, older_than: Seconds | None = None) -> int:
        """Drop dead letters for good: the named, or those older than `older_than` seconds; returns how many.

        Without either: ALL of them. So look first whether a list of ids that you unpack is empty.
        """
        keep, age_ms = (0, 0) if older_than is None else (10**9, to_ms(older_than, "older_than"))
        wanted = [check_id(id) for id in ids]
        dropped: int = 0
        while True:
            now, wanted = wanted[:CHUNK], wanted[CHUNK:]
            gone: int = self._scripts.call(self.redis, "purge", *now, max=keep, age_ms=age_ms, limit=CHUNK)
            dropped += gone
            if not wanted and (ids or gone < CHUNK):
                return dropped

    def tidy(self, idle: Seconds | None = None) -> None:
        """Drop dead letters past their age, and forget workers that hold nothing and were idle so long.

        `idle` is seconds, by default two leases, at least a minute. A scheduler does it each minute.
        """
        idle_ms = max(2 * self.lease_ms, 60_000) if idle is None else to_ms(idle, "idle")
        self._scripts.call(self.redis, "tidy", idle_ms=idle_ms, limit=CHUNK)

    def repair(self) -> list[str]:
        """Find jobs that no structure holds (a key was deleted, or evicted: `counts().lost`) and put them back.

        They are ready again, or scheduled if their time is still to come; one at its last attempt
        is buried, as `recover` would; a lost dead letter is listed again; a lane whose head is gone
        is set going. Reads every record by SCAN: not for each minute. Returns the ids of what was found.
        """

        def adopt(job_id: bytes, seen: str) -> bool:
            return self._scripts.call(self.redis, "adopt", id=job_id, seen=seen) in {b"recovered", b"dead"}

        def resume(entities: list[bytes]) -> list[bytes]:
            heads: list[bytes] = self._scripts.call(self.redis, "resume", *entities)
            return heads

        return repair.repair(self.redis, self.keys, self.store, adopt, resume)


_AFTER_FAIL = {"retry": State.SCHEDULED, "dead": State.DEAD, "cancelled": State.CANCELLED}
_GOOD = {"ack": {"done"}, "extend": {"ok", "cancel"}, "release": {"ready", "cancelled"}}


def _pairs(claims: list[Claim]) -> list[str | int]:
    return [value for claim in claims for value in (claim.id, claim.token)]


def _limit(value: object) -> int:
    return whole(value, "limit", 1, MOST)


def _stale(claim: Claim, verb: str, answer: str) -> str:
    why = "another claim is newer, its lease ran out, or it is settled" if answer == "stale" else answer
    return f"{verb} of {claim.id!r} with token {claim.token} refused: {why}"
