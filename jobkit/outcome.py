"""What became of a run, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobkit.clock import spoken
from jobkit.history import said
from jobkit.job import Claim
from jobkit.logs import counted


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a handler, and what it led to."""

    id: str
    task: str
    attempt: int
    became: str
    """done, retry, dead, cancelled, released, or stale: the claim was no longer the newest."""
    error: str = ""
    """The type of the exception, and its message."""
    delay_ms: int = 0
    """How long the job waits for its next attempt, after `retry`."""

    @classmethod
    def of(cls, claim: Claim, became: str, error: BaseException | None = None, delay_ms: int = 0) -> Outcome:
        """Describe the run of a claim."""
        what = "" if error is None else f"{type(error).__name__}: {said(error)}".removesuffix(": ")
        return cls(claim.id, claim.task, claim.attempt, became, what, delay_ms)

    def __str__(self) -> str:
        after = {
            "done": f"done, attempt {self.attempt}",
            "retry": f"attempt {self.attempt}, again in {spoken(self.delay_ms)}",
            "dead": f"attempt {self.attempt}, dead",
            "stale": f"attempt {self.attempt}, too late: another claim is newer",
        }.get(self.became, f"attempt {self.attempt}, {self.became}")
        return f"{self.task}: {f'{self.error}, ' if self.error else ''}{after}"


class Outcomes(list[Outcome]):
    """The runs of a step, in order; it reads as sentences."""

    def __init__(self, runs: Iterable[Outcome] = (), wait: float | None = None) -> None:
        super().__init__(runs)
        self.wait = wait
        """Seconds until the next job is due, where that is known."""
        self.lost = 0
        """After a `drain` that ran out of work: jobs that no structure holds any more."""

    def __repr__(self) -> str:
        lines = [str(run) for run in self]
        if not lines:
            after = "" if self.wait is None else f"; the next job is, in {spoken(self.wait * 1000)}"
            lines = [f"nothing is due{after}"]
        if self.lost:
            lines.append(f"{counted(self.lost, 'job')} without a place in Redis: queue.repair() looks for such")
        return "\n".join(lines)
