"""What a queue answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from jobkit.history import Event
from jobkit.job import State


class Submitted(NamedTuple):
    """What `submit` says: the job's id, whether this call created it, and the state that it is in."""

    id: str
    created: bool
    state: State


class Promoted(NamedTuple):
    """How many jobs were moved, and the seconds until the next one is due (None: none is waiting)."""

    moved: int
    wait: float | None


class Recovered(NamedTuple):
    """How many jobs are ready again, and how many were buried because it was their last attempt."""

    ready: int
    dead: int


class DeadLetter(NamedTuple):
    """A job that was given up: why (its last event), and when (ms)."""

    id: str
    task: str
    buried: int
    replays: int
    last: Event | None

    def __str__(self) -> str:
        return f"{self.task} {self.id}: {self.last or 'its record is gone'}"


@dataclass(frozen=True)
class Counts:
    """Jobs per state at one instant, and totals that only ever grow.

    A job that was cancelled while ready counts as ready until a claim skips it.
    """

    scheduled: int
    waiting: int
    """Behind another job of their entity."""
    ready: int
    running: int
    dead: int
    wait: float | None
    """Seconds until the next scheduled job is due."""
    totals: Mapping[str, int]
    """submitted, done, retried, dead, dropped, cancelled, recovered, released, requeued; occurred, missed."""

    @classmethod
    def of_reply(cls, reply: list[Any], **more: Any) -> Self:
        """Read what `counts.lua` answers; `more` are the fields of a subclass."""
        scheduled, waiting, ready, running, dead, wait, *flat = reply
        totals = {name.decode(): int(n) for name, n in zip(flat[::2], flat[1::2], strict=True)}
        return cls(scheduled, waiting, ready, running, dead, None if wait < 0 else wait / 1000, totals, **more)

    @property
    def lost(self) -> int:
        """Jobs and dead letters that the totals know and no structure holds: `queue.repair()` looks for them.

        A key of the queue was deleted, or evicted. At least so many: a job that was cancelled while
        ready hides one until a claim skips it; and 0 if the totals are gone, too.
        """
        came, went = self._sum("submitted", "requeued"), self._sum("done", "cancelled", "dead")
        live = came - went - self.scheduled - self.waiting - self.ready - self.running
        letters = self._sum("dead") - self._sum("requeued", "dropped") - self.dead
        return max(0, live) + max(0, letters)

    def _sum(self, *names: str) -> int:
        return sum(self.totals.get(name, 0) for name in names)
