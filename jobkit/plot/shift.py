"""What a crew did, as facts: from its journal, its kills, and the histories of the jobs that they hit."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from jobkit.errors import UnknownJob
from jobkit.journal import Mark
from jobkit.queue import Queue


class Watched(Protocol):
    """What a picture needs of a crew: `jobkit.processes.Crew` has it."""

    @property
    def running(self) -> Mapping[str, Any]:
        """Name -> process."""

    @property
    def killed(self) -> Sequence[tuple[int, str]]:
        """(ms since the epoch, name) of each kill."""

    def marks(self) -> list[Mark]:
        """Return every start and end of a handler."""


@dataclass(frozen=True)
class Run:
    """One run of a handler; moments in ms since the first of the shift."""

    worker: str
    job: str
    attempt: int
    start: int
    end: int | None
    """When it ended, or its process was killed; None while it goes on."""
    cut: bool
    """Whether it ended by a kill."""
    freed: int | None
    """When its lease was over, so that another worker could have the job; None if that did not happen."""

    def __str__(self) -> str:
        return self.job if self.attempt == 1 else f"{self.job}, run {self.attempt}"


@dataclass(frozen=True)
class Shift:
    """The marks and kills of a crew (ms since the epoch), and how long after its claim each lease was over that was."""

    marks: Sequence[Mark]
    killed: Sequence[tuple[int, str]]
    leases: Mapping[tuple[str, int], int] = field(default_factory=dict)
    """(job, attempt) -> ms; a length, because Redis may have a clock of its own."""

    staff: Sequence[str] = ()
    """Who else is there, even if they did nothing."""

    @classmethod
    def of(cls, crew: Watched, queue: Queue | None = None) -> Shift:
        """Read a crew; the leases come from the `queue`, and without one are not known."""
        marks, killed = crew.marks(), list(crew.killed)
        leases = {} if queue is None else _leases(queue, _unended(marks))
        return cls(marks, killed, leases, list(crew.running))

    @property
    def begin(self) -> int:
        """Its first moment, ms since the epoch."""
        return min([mark.at for mark in self.marks] + [at for at, _ in self.killed], default=0)

    def workers(self) -> list[str]:
        """Return everybody who is there, did something, or was killed, in the order of their names' numbers."""
        names = {mark.worker for mark in self.marks} | {name for _, name in self.killed} | set(self.staff)
        return sorted(names, key=lambda name: (len(name), name))

    def runs(self) -> list[Run]:
        """Return the runs, in the order of their starts."""
        begin, gone = self.begin, {name: at for at, name in self.killed}
        ends = {(mark.worker, mark.id, mark.attempt): mark.at for mark in self.marks if mark.what == "end"}
        runs = []
        for mark in self.marks:
            if mark.what != "start":
                continue
            end = ends.get((mark.worker, mark.id, mark.attempt))
            cut = end is None and mark.worker in gone
            lease = self.leases.get((mark.id, mark.attempt))
            runs.append(
                Run(
                    mark.worker,
                    mark.id,
                    mark.attempt,
                    mark.at - begin,
                    gone[mark.worker] - begin if cut else None if end is None else end - begin,
                    cut,
                    None if lease is None else mark.at + lease - begin,
                )
            )
        return runs

    def save(self, path: str | Path) -> None:
        """Write it to a file, as JSON: a line per mark."""
        marks = ",\n  ".join(json.dumps(mark) for mark in self.marks)
        leases = json.dumps([[*key, ms] for key, ms in self.leases.items()])
        text = f'{{"marks": [\n  {marks}\n ],\n "killed": {json.dumps(self.killed)},\n "leases": {leases}}}\n'
        Path(path).write_text(text, "utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Shift:
        """Read a file back."""
        kept = json.loads(Path(path).read_text("utf-8"))
        marks = [Mark(*mark) for mark in kept["marks"]]
        return cls(marks, [(at, name) for at, name in kept["killed"]], {(j, n): ms for j, n, ms in kept["leases"]})


def _unended(marks: Sequence[Mark]) -> list[str]:
    """Return the jobs of which a run has no end, or which ran more than once: their histories say why."""
    starts = [mark.id for mark in marks if mark.what == "start"]
    ends = [mark.id for mark in marks if mark.what == "end"]
    return [job for job in dict.fromkeys(starts) if starts.count(job) > min(1, ends.count(job))]


def _leases(queue: Queue, jobs: Sequence[str]) -> dict[tuple[str, int], int]:
    """Ask the histories how long after its claim each lease was over, of those that were."""
    found = {}
    for job in jobs:
        try:
            events = queue.history(job)
        except UnknownJob:  # done so long ago that its record is gone
            continue
        for event in events:
            if event.attempt and "lease expired" in event.error.get("message", ""):
                found[job, event.attempt] = event.ended - event.started
    return found
