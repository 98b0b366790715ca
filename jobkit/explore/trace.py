"""What was explored and what was seen: plain data, which reports and pictures are made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


class Kind(StrEnum):
    """What happened in a step."""

    COMMAND = "command"
    """A Redis command (a script and a MULTI/EXEC block are one), and its reply."""
    LOST = "lost"
    """A command that the server ran, and whose reply was lost with the connection."""
    EFFECT = "effect"
    """`w.effect(...)`: something outside of Redis."""
    SLEEP = "sleep"
    """The worker woke up after a sleep."""
    CRASH = "crash"
    """The worker died here."""
    JUMP = "jump"
    """Time went forward; no worker took this step."""
    END = "end"
    """The worker raised an error: it ended, though nobody planned it."""


@dataclass(frozen=True)
class Change:
    """What a step did to a key, in words as short as a table needs; "" where the key is not there."""

    key: str
    before: str
    after: str


@dataclass(frozen=True)
class Step:
    """One step of a schedule."""

    kind: Kind
    worker: str
    """Who took it: "A", "B", ..., "R" for the recovery; "" where time went forward."""
    text: str
    """The command or the effect: `ZREM delayed j0`; of a jump, how far: `30 s`."""
    reply: str = ""
    """What the server answered: `1`, `[j0]`, `nil`, `"text"`; "" where there is nothing to answer."""
    changes: tuple[Change, ...] = ()
    at: int = 0
    """ms on the server's clock, counted from the start of the schedule."""


@dataclass(frozen=True, kw_only=True)
class Story:
    """A schedule, and what happened on it."""

    schedule: str
    """The schedule as a string: give it to `explore(..., schedule=...)` to see it again."""
    steps: tuple[Step, ...]
    forced: int
    """How many switches, crashes, lost replies and jumps it takes that nothing but bad luck brings about."""

    @property
    def switches(self) -> int:
        """How often the turn passes from one worker to another."""
        turns = [step.worker for step in self.steps if step.worker]
        return sum(before != after for before, after in pairwise(turns))


@dataclass(frozen=True)
class Failure(Story):
    """The shortest schedule that breaks a promise."""

    promise: str
    """The promise, as its function is called: `each runs once`."""
    what: str
    """What broke it: `run j0 done 2 times (by B, A)`."""


@dataclass(frozen=True)
class Coverage:
    """What a search has looked at, for a verdict that claims no more than that."""

    workers: int
    schedules: int
    """How many schedules were run, those of all bounds together."""
    bound: int | None
    """The highest bound that was completed; None: every schedule there is."""
    complete: bool
    """False where the limit of schedules, or a random walk, ended the search before that."""
    crashes: int = 0
    lost_replies: int = 0
    jumps: int = 0
    random: bool = False
    """The schedules were drawn at random."""
    promises: int = 1
    """How many promises were given; without any, only errors and endless waits count."""
    longest: int = 0
    """Steps of the longest schedule."""
