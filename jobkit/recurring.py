"""Recurring schedules: kept in Redis, so that any process may add, pause and remove them.

What makes jobs of them is `firing.py`, for a scheduler to call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from redis.exceptions import ResponseError

from jobkit import firing
from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.errors import ConfigError, JobError, ScheduleError, UnknownSchedule, WrongState
from jobkit.firing import Fired
from jobkit.job import check_text, encode
from jobkit.queue import Queue
from jobkit.schedule import NAME_BYTES, Schedule
from jobkit.submission import New
from jobkit.timetable import CatchUp, Cron, Every

PAGE = 500
"""Schedules that are read at once."""

TRIES = 10
"""How often a change is tried while others change the same schedule."""


class Schedules:
    """The recurring schedules of a queue. `rng` makes nonces; seed it, and they repeat."""

    def __init__(self, queue: Queue, *, rng: Random | None = None) -> None:
        if not isinstance(queue, Queue):
            raise ConfigError(f"schedules are those of one Queue, whose jobs may submit to others; got {queue!r}")
        self.queue = queue
        self._rng = rng or new_rng()

    # -- anybody's ---------------------------------------------------------------

    def add(
        self,
        name: str,
        task: str,
        args: Mapping[str, Any] | bytes | None = None,
        *,
        cron: str | None = None,
        every: Seconds | None = None,
        tz: str = "UTC",
        catch_up: str = "latest",
        grace: Seconds = 60,
        priority: int = 0,
        entity: str | None = None,
        max_attempts: int | None = None,
        lease: Seconds | None = None,
    ) -> Schedule:
        """Add a schedule, or replace the one of that name: `task` is submitted at each of its slots.

        It goes by `cron` (five fields, read in the time zone `tz`) or each `every` seconds, the first
        time that long from now. The rest are those of `Queue.submit`. `catch_up` says what becomes of
        what was missed, see `CatchUp`; an occurrence late by up to `grace` seconds is not missed.
        Adding the same again, as at each start of a program, changes nothing of how far it has come,
        nor whether it is paused; with another timetable it begins anew, now.
        Raises ScheduleError, JobError or DelayError before anything is written.
        """
        if (cron is None) == (every is None):
            raise ScheduleError(f"a schedule has cron= or every=, one of them; got cron={cron!r}, every={every!r}")
        if len(check_text(name, "a schedule's name").encode()) > NAME_BYTES:
            raise JobError(f"a schedule's name has at most {NAME_BYTES} bytes, got {name!r}")
        if lease is not None and not self.queue.store.lease_per_job:
            raise JobError(f"{self.queue!r} has one lease for all its jobs, and none per schedule")
        new = Schedule(
            name,
            New(task, encode(args), priority=priority, entity=entity, max_attempts=max_attempts, lease=lease),
            cron=cron or "",
            tz=tz,
            every=0 if every is None else Every.of(every).ms,
            catch_up=CatchUp(catch_up).word,
            grace=to_ms(grace, "grace"),
        )
        if cron is not None:
            Cron(cron, tz)
        new.record()

        def change(old: Schedule | None, now: int) -> Schedule:
            if old is None or old.goes_by != new.goes_by or old.too_new(now):
                begun = replace(new, ahead=old.ahead if old else 0)
                return replace(begun, last=now + begun.ahead).started(now)
            kept = {field: getattr(old, field) for field in ("last", "next", "made", "dropped", "paused", "ahead")}
            return replace(new, **kept)

        return self._write(name, change)

    def get(self, name: str) -> Schedule:
        """Read a schedule. Raises UnknownSchedule."""
        found = self._read([check_text(name, "a schedule's name")])[0]
        if found is None:
            raise UnknownSchedule(f"no schedule {name!r} in {self.queue!r}")
        return found

    def all(self) -> list[Schedule]:
        """Read all schedules, the next due first; those that are paused or stopped come last."""
        index: Any = self.queue.redis.zrange(self.queue.keys.schedules, 0, -1)
        names = [name.decode() for name in index]
        pages = [self._read(names[start : start + PAGE]) for start in range(0, len(names), PAGE)]
        return [found for page in pages for found in page if found is not None]

    def pause(self, name: str) -> Schedule:
        """Let it rest until `resume`. Raises UnknownSchedule."""
        return self._write(name, lambda old, _: replace(_known(old, name), paused=True))

    def resume(self, name: str) -> Schedule:
        """Go on from now: what was due meanwhile is not made up for. Raises UnknownSchedule, ScheduleError."""

        def change(old: Schedule | None, now: int) -> Schedule:
            known = _known(old, name)
            return known.started(now) if known.due is None else known

        return self._write(name, change)

    def remove(self, name: str) -> None:
        """Forget a schedule; jobs that it made stay. Raises UnknownSchedule."""
        seen, version = self.get(name).version, self._nonce()
        for _ in range(TRIES):
            if self.queue.call("reschedule", name=name, seen=seen, version=version, due="inf") == b"written":
                return
            found = self._read([name])[0]
            if found is None:
                return
            seen = found.version
        raise WrongState(f"schedule {name!r} of {self.queue!r} was changed by others {TRIES} times meanwhile")

    # -- the scheduler's -----------------------------------------------------------

    def fire(self, number: int | None = None, limit: int = 100) -> Fired:
        """Make the jobs of what is due: up to 500 for each of up to `limit` schedules, and say how long to wait.

        `number` is the leader's fencing number; None: there is no leader. A schedule in which
        something is wrong is stopped, its error written into its record, and the others go on.
        """
        return firing.fire(self.queue, self._nonce, number, limit)

    def check(self) -> list[str]:
        """Stop the schedules whose last run lies in the future, where they would wait for it; return their names.

        Whoever wrote that had another clock. A scheduler does it each minute.
        """
        now = self._now()
        wrong = [(schedule, schedule.too_new(now)) for schedule in self.all() if schedule.due is not None]
        for schedule, why in wrong:
            if why:
                record = {name.encode(): value for name, value in schedule.record().items()}
                record[b"version"] = schedule.version
                firing.stop(self.queue, self._nonce(), schedule.name, record, ScheduleError(why))
        return [schedule.name for schedule, why in wrong if why]

    # -- inside --------------------------------------------------------------------

    def _write(self, name: str, change: Callable[[Schedule | None, int], Schedule]) -> Schedule:
        """Read, change, write if nobody else did meanwhile; else once more."""
        for _ in range(TRIES):
            old, version = self._read([name])[0], self._nonce()
            new = change(old, self._now())
            flat = [value for pair in new.record().items() for value in pair]
            seen, due = old.version if old else b"", "inf" if new.due is None else new.due
            answer = self.queue.call("reschedule", *flat, name=name, seen=seen, version=version, due=due)
            if answer == b"written":
                return replace(new, version=version)
        raise WrongState(f"schedule {name!r} of {self.queue!r} was changed by others {TRIES} times meanwhile")

    def _read(self, names: list[str]) -> list[Schedule | None]:
        """Read schedules; None where there is none."""
        pipe: Any = self.queue.redis.pipeline(transaction=False)
        for name in names:
            pipe.hgetall(self.queue.keys.schedule + name).zscore(self.queue.keys.schedules, name)
        answers = pipe.execute(raise_on_error=False)
        return list(map(_found, names, answers[::2], answers[1::2]))

    def _now(self) -> int:
        now: int = self.queue.call("due", limit=0)[0]
        return now

    def _nonce(self) -> bytes:
        return self._rng.getrandbits(64).to_bytes(8, "big")


def _found(name: str, record: Any, score: float | None) -> Schedule | None:
    """Read what the server said of a schedule; one that cannot be read tells why."""
    if isinstance(record, ResponseError):
        return Schedule(name, error=f"its record cannot be read: {record}")
    if not record:
        return None if score is None else Schedule(name, error="its record is gone")
    try:
        return Schedule.of_record(name, record)
    except ScheduleError as error:
        return Schedule(name, error=str(error), version=record.get(b"version", b""))


def _known(schedule: Schedule | None, name: str) -> Schedule:
    if schedule is None:
        raise UnknownSchedule(f"no schedule {name!r}")
    if not schedule.job.task:
        raise ScheduleError(f"schedule {name!r}: {schedule.error}; add it anew, or remove it")
    return schedule
