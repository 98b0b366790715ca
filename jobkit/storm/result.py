"""What a storm did: the calls as arrays, and the figures that sum it up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from jobkit.clock import Seconds
from jobkit.logs import counted
from jobkit.storm import given
from jobkit.storm.draw import blocks
from jobkit.storm.pool import Pool
from jobkit.storm.window import Downstream


class Setting(NamedTuple):
    """What was simulated."""

    jobs: int
    retries: int
    downstream: Downstream
    pool: Pool | None
    poll_ms: int
    capacity: float
    """Calls served per second."""


class Summary(NamedTuple):
    """The figures to look at together; the peak alone is no answer. Times are s after the failure, None if never."""

    name: str
    peak: int
    """The most retries in one bin of `bin_s` seconds, starting at t = 0."""
    bin_s: float
    peak_after: int
    """The same from the end of the outage on, in bins that start there."""
    total_calls: int
    """All runs: the first one of each job, and the retries."""
    amplification: float
    """Runs per job."""
    dead: int
    """Jobs that no retry served."""
    p50_s: float | None
    """When half of the served jobs were served."""
    p99_s: float | None
    drained_s: float
    """When the last call was made: nothing comes back after it."""
    goodput: float | None
    """Served jobs per second, from the end of the outage to p99."""
    knocked_over: int

    def __str__(self) -> str:
        served = "nobody served"
        if self.p50_s is not None and self.p99_s is not None:
            served = f"half served by {self.p50_s:,.1f} s, 99 % by {self.p99_s:,.1f} s"
        return (
            f"{self.name}: at most {counted(self.peak, 'retry')} in {self.bin_s:g} s "
            f"({self.peak_after:,} after the outage), "
            f"{counted(self.total_calls, 'call')} ({self.amplification:.2f} per job), {self.dead:,} dead, {served}, "
            f"quiet after {self.drained_s:,.1f} s, knocked over {counted(self.knocked_over, 'time')}"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Storm:
    """The outcome of `storm()`; `summary()` for the figures, the arrays for pictures."""

    name: str
    setting: Setting
    times: np.ndarray
    """ms after the first failure, (retries, jobs): when each retry comes, were it made; see `made`."""
    served_by: np.ndarray
    """uint8, (jobs,): the number of the retry that was served, from 1; 0 for a dead job."""
    knocked_ms: tuple[int, ...]
    """When it was knocked over: the starts of those windows, in ms."""

    def __repr__(self) -> str:
        return str(self.summary())

    @property
    def dead(self) -> int:
        """Jobs that no retry served."""
        return int(np.count_nonzero(self.served_by == 0))

    def made(self, retry: int) -> np.ndarray:
        """Which jobs made retry number `retry`, from 1: bool, (jobs,)."""
        made: np.ndarray = (self.served_by == 0) | (self.served_by >= retry)
        return made

    def calls_ms(self, retry: int | None = None) -> np.ndarray:
        """When the retries that were made came, in ms, in no order; of all retries, or of one number."""
        numbers = range(1, self.setting.retries + 1) if retry is None else [retry]
        return np.concatenate([self.times[k - 1, self.made(k)] for k in numbers])

    @cached_property
    def served_ms(self) -> np.ndarray:
        """When the served jobs were served: ms, sorted, (jobs - dead,)."""
        jobs = np.flatnonzero(self.served_by)
        return np.sort(self.times[self.served_by[jobs] - 1, jobs])

    def arrivals(self, bin: Seconds = 1.0, *, since: Seconds = 0, retry: int | None = None) -> np.ndarray:  # noqa: A002
        """Count the retries in bins of `bin` seconds that start at `since`: int64, (bins,)."""
        bin_ms, since_ms = given.span_ms(bin, "bin", least=1), given.span_ms(since, "since")
        last = max(0, self.last_ms - since_ms)
        counts = np.zeros(last // bin_ms + 1, dtype=np.int64)
        for k in range(1, self.setting.retries + 1) if retry is None else [retry]:
            for part in blocks(self.setting.jobs) if len(counts) < 1 << 16 else [slice(None)]:
                served = self.served_by[part]
                at = self.times[k - 1, part][(served == 0) | (served >= k)]
                seen = np.bincount((at[at >= since_ms] - since_ms) // bin_ms)
                counts[: len(seen)] += seen
        return counts

    @cached_property
    def last_ms(self) -> int:
        """When the last retry came, in ms."""
        retry = np.where(self.served_by == 0, self.setting.retries, self.served_by).astype(np.intp)
        return int(self.times[retry - 1, np.arange(self.setting.jobs)].max())

    def summary(self, bin: Seconds = 1.0) -> Summary:  # noqa: A002 - the word of the field
        """Sum it up; peaks are counted in bins of `bin` seconds, which the summary states."""
        setting = self.setting
        outage_s = setting.downstream.outage_ms / 1000
        retries = np.where(self.served_by == 0, np.uint8(setting.retries), self.served_by)
        total = setting.jobs + int(retries.sum(dtype=np.int64))
        p50, p99 = self.percentile_s(50), self.percentile_s(99)
        after = self.arrivals(bin, since=outage_s)
        return Summary(
            name=self.name,
            peak=int(self.arrivals(bin).max()),
            bin_s=given.span_ms(bin, "bin") / 1000,
            peak_after=int(after.max()),
            total_calls=total,
            amplification=total / setting.jobs,
            dead=self.dead,
            p50_s=p50,
            p99_s=p99,
            drained_s=self.last_ms / 1000,
            goodput=None
            if p99 is None
            else 0.99 * len(self.served_ms) / max(p99 - outage_s, setting.downstream.window_ms / 1000),
            knocked_over=len(self.knocked_ms),
        )

    def percentile_s(self, q: float) -> float | None:
        """By when q percent of the served jobs were served, in s; None if none was."""
        served = self.served_ms
        if not len(served):
            return None
        return int(served[max(0, math.ceil(len(served) * q / 100) - 1)]) / 1000
