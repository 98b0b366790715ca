"""What to watch of a queue: how deep it is, how long its jobs wait, how late they start, how fast they go.

Levels and ages are read from the structures that hold the jobs. What happened so far is read from
totals that only ever grow, so that two snapshots make rates. Every function takes any number of
queues: the shards of one, say.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, NamedTuple, Protocol, Self

from jobkit.answers import Counts

STATES = ("scheduled", "waiting", "ready", "running", "dead")
"""Where a job that is not finished can be."""

TOTALS = (
    "submitted", "occurred", "missed", "done", "retried", "recovered", "released", "cancelled", "dead", "dropped",
    "requeued",
)  # fmt: skip
"""What is counted, in the order of a job's life."""


@dataclass(frozen=True)
class Lateness:
    """How late jobs started, after the moment when they were due: a histogram that only ever grows.

    A job counts once for each time that it is due: anew after a retry or a requeue, and not when it
    starts again because its worker died or gave it back.
    """

    seconds: float = 0.0
    """All of it, added up."""
    buckets: Mapping[float, int] = field(default_factory=dict)
    """An upper bound in seconds -> how many starts were late by so much, and by more than the bound before."""

    @property
    def count(self) -> int:
        """How many starts there were."""
        return sum(self.buckets.values())

    @property
    def mean(self) -> float | None:
        """By how many seconds a start was late in the mean; None if there was none."""
        return self.seconds / self.count if self.count else None

    def within(self, share: float) -> float | None:
        """Return the first bound (seconds) within which so great a share of the starts was: `within(0.99)`.

        Infinity if that takes what is beyond all bounds, None if there was no start.
        """
        left = share * self.count
        for bound, n in sorted(self.buckets.items()):
            left -= n
            if left <= 0 < self.count:
                return bound
        return None

    def __add__(self, other: Lateness) -> Lateness:
        return Lateness(self.seconds + other.seconds, _sum([self.buckets, other.buckets]))

    def since(self, before: Lateness) -> Lateness:
        """Return what came after an earlier one."""
        if self.count < before.count:  # the key was deleted meanwhile
            return self
        return Lateness(self.seconds - before.seconds, _grown(before.buckets, self.buckets))


@dataclass(frozen=True)
class Stats(Counts):
    """The counts of a queue, or of several, and how old and how late their jobs are. Ages are seconds."""

    queue: str
    """Its name; empty for a sum."""
    at: int
    """When, by the server's clock, in ms."""
    overdue: float | None
    """For how long the first scheduled job has been due: where that grows, no scheduler ticks. None: none is due."""
    oldest_ready: float | None
    """For how long the ready job that is next has been due: where that grows, there are too few workers."""
    oldest_dead: float | None
    """For how long the oldest dead letter has been one."""
    lateness: Lateness

    @classmethod
    def of_replies(cls, queue: str, counts: list[Any], found: list[Any]) -> Self:
        """Read what `counts.lua` and `stats.lua` answer."""
        at, overdue, ready, dead, late, *flat = found
        bounds = [math.inf if bound == b"more" else int(bound) / 1000 for bound in flat[::2]]
        return cls.of_reply(
            counts,
            queue=queue,
            at=at,
            overdue=_seconds(overdue),
            oldest_ready=_seconds(ready),
            oldest_dead=_seconds(dead),
            lateness=Lateness(late / 1000, dict(zip(bounds, flat[1::2], strict=True))),
        )

    @classmethod
    def sum(cls, parts: Sequence[Stats], queue: str = "") -> Stats:
        """Add up: counts and totals are summed, of ages the greatest holds."""
        return Stats(
            scheduled=sum(part.scheduled for part in parts),
            waiting=sum(part.waiting for part in parts),
            ready=sum(part.ready for part in parts),
            running=sum(part.running for part in parts),
            dead=sum(part.dead for part in parts),
            wait=_best(min, (part.wait for part in parts)),
            totals=_sum(part.totals for part in parts),
            queue=queue,
            at=max(part.at for part in parts),
            overdue=_best(max, (part.overdue for part in parts)),
            oldest_ready=_best(max, (part.oldest_ready for part in parts)),
            oldest_dead=_best(max, (part.oldest_dead for part in parts)),
            lateness=reduce(add, (part.lateness for part in parts)),
        )

    @property
    def oldest_due(self) -> float | None:
        """For how long the oldest job that is due and has not started has been so; None: none is due."""
        return _best(max, (self.overdue, self.oldest_ready))


@dataclass(frozen=True)
class Rates:
    """What happened between two snapshots."""

    seconds: float
    per_second: Mapping[str, float]
    """As the totals: submitted, done, retried, ...; a total that shrank was deleted, and counts from 0."""
    lateness: Lateness
    """Of the starts in between."""

    @classmethod
    def between(cls, before: Stats, after: Stats) -> Self | None:
        """Compare two snapshots of one queue, or sum; None if no time has passed."""
        seconds = (after.at - before.at) / 1000
        if seconds <= 0:
            return None
        grown = _grown(before.totals, after.totals)
        per_second = {name: n / seconds for name, n in grown.items()}
        return cls(seconds, per_second, after.lateness.since(before.lateness))


class Measured(Protocol):
    """A queue, as far as is needed here."""

    def stats(self) -> Stats:
        """Measure it."""
        ...


class Reading(NamedTuple):
    """A snapshot, and the rates since the one before it; None at first."""

    stats: Stats
    rates: Rates | None


class Meter:
    """Looks at queues again and again: at each look the rates since the last one."""

    def __init__(self, queues: Iterable[Measured]) -> None:
        self._queues = list(queues)
        self._last: list[Stats] = []

    def look(self) -> list[Reading]:
        """Read each queue, and, where there are several, their sum at the end."""
        found = [queue.stats() for queue in self._queues]
        if len(found) > 1:
            found.append(Stats.sum(found))
        last, self._last = self._last, found
        rates = [Rates.between(*pair) for pair in zip(last, found, strict=True)] if last else [None] * len(found)
        return [Reading(*pair) for pair in zip(found, rates, strict=True)]


def _seconds(ms: int) -> float | None:
    return None if ms < 0 else ms / 1000


def _best(choose: Any, values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _sum(counters: Iterable[Mapping[Any, int]]) -> dict[Any, int]:
    total: Counter[Any] = Counter()
    for counter in counters:
        total.update(counter)
    return dict(total)


def _grown(before: Mapping[Any, int], after: Mapping[Any, int]) -> dict[Any, int]:
    return {name: n - (before.get(name, 0) if n >= before.get(name, 0) else 0) for name, n in after.items()}
