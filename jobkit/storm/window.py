"""The window limiter: a downstream that serves so many calls per window, and refuses the rest.

It is down on [0, outage). From then on time is cut into windows. In each window the first C calls
are served, in the order of (time, job); all others are refused. A window starts where the outage
ends, so a retry that lands in the window in which it was refused is refused again: that is what
makes it right to decide a whole window at once.

With a collapse, a window with more than `limit` calls of unserved jobs serves none of them, and
the downstream is down for a while, counted from that window's start.

Nothing is simulated call by call. In a window with at most C calls all are served, whoever calls;
only the crowded windows are gone through, one after the other.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from jobkit.clock import spoken
from jobkit.errors import ConfigError
from jobkit.progress import bar
from jobkit.storm.draw import BLOCK, blocks

_HALF = np.iinfo(np.int32).max // 2

MOST_WINDOWS = 20_000_000
"""A count per window is kept: this many take 160 MB."""


class Downstream(NamedTuple):
    """What is called: down for `outage_ms`, then `per_window` calls in each `window_ms`."""

    outage_ms: int
    window_ms: int
    per_window: int
    limit: int | None = None
    """More live calls than this in one window knock it over; None: nothing does."""
    down_ms: int = 0
    """For how long, from the start of that window."""

    def windows(self, times: np.ndarray) -> np.ndarray:
        """Number the windows of some moments (ms): 1 is the first after the outage, 0 the outage."""
        if max(self.outage_ms, self.window_ms) > _HALF:
            times = times.astype(np.int64)
        number: np.ndarray = np.maximum(times + (self.window_ms - self.outage_ms), 0) // self.window_ms
        return number

    def start(self, window: int) -> int:
        """When a window starts, in ms."""
        return self.outage_ms + (window - 1) * self.window_ms

    @property
    def windows_lost(self) -> int:
        """How many windows a collapse takes, the one in which it happens included."""
        return max(1, -(-self.down_ms // self.window_ms))


def serve(times: np.ndarray, downstream: Downstream) -> tuple[np.ndarray, list[int]]:
    """Decide which retry of each job is served.

    `times` is (retries, jobs) in ms, rising along the retries. Returns the number of the served
    retry of each job, from 1, or 0 for a job that none served (uint8, shape (jobs,)), and when the
    downstream was knocked over (ms, the starts of those windows).
    """
    return _Limiter(times, downstream).run()


class _Limiter:
    def __init__(self, times: np.ndarray, downstream: Downstream) -> None:
        self.times, self.downstream = times, downstream
        self.retries, self.jobs = times.shape
        last = int(times[-1].max(initial=0))
        self.count = int(downstream.windows(np.array([last]))[0]) + 1
        if self.count > MOST_WINDOWS:
            raise ConfigError(
                f"window must be at least {math.ceil(last / MOST_WINDOWS) / 1000:g} s for waits that add up to "
                f"{spoken(last)}, got {downstream.window_ms / 1000:g} s"
            )
        # A radix sort of 16-bit numbers is an order of magnitude quicker than any sort of wider ones.
        self.window = np.empty(times.shape, np.uint16 if self.count <= 1 << 16 else np.uint32)
        self.served = np.zeros(self.jobs, dtype=np.uint8)
        self.knocked: list[int] = []

    def run(self) -> tuple[np.ndarray, list[int]]:
        crowded = self._find_crowded()
        down = np.zeros(self.count, dtype=bool)
        down[0] = True
        calls = self._settle_quiet(crowded, down)
        for window, group in _groups(self.window.reshape(-1), calls):
            if not down[window]:
                self._decide(window, group, crowded, down)
        return self.served, self.knocked

    def _find_crowded(self) -> np.ndarray:
        """Which windows have more calls than are served, if every job makes all its calls."""
        calls = np.zeros(self.count, dtype=np.int64)
        wide = self.count > BLOCK  # then a count per block would cost more than the block
        for part in bar(blocks(self.jobs), "windows"):
            for k in range(self.retries):
                self.window[k, part] = self.downstream.windows(self.times[k, part])
                if not wide:
                    seen = np.bincount(self.window[k, part])
                    calls[: len(seen)] += seen
        for k in range(self.retries if wide else 0):
            calls += np.bincount(self.window[k], minlength=self.count)
        crowded = calls > self.downstream.per_window
        crowded[0] = False
        return crowded

    def _settle_quiet(self, crowded: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Serve each job at its first call in a quiet window; return its calls in crowded ones before that.

        Calls are numbered retry x jobs + job.
        """
        final = self.downstream.limit is None  # else a collapse may yet close a quiet window
        state = np.where(crowded, 2, np.where(down, 0, 1)).astype(np.uint8)
        open_calls: list[np.ndarray] = []
        for part in bar(blocks(self.jobs), "quiet windows"):
            here = [state[self.window[k, part]] for k in range(self.retries)]
            served = self.served[part]
            for k in reversed(range(self.retries)):
                served[here[k] == 1] = k + 1
            for k in range(self.retries):
                mask = here[k] == 2
                if final:
                    mask &= (served == 0) | (served > k)
                open_calls.append(np.flatnonzero(mask) + (k * self.jobs + part.start))
        return np.concatenate(open_calls)

    def _decide(self, window: int, calls: np.ndarray, crowded: np.ndarray, down: np.ndarray) -> None:
        """Serve the first calls of a crowded window, or be knocked over."""
        retry, job = np.divmod(calls, self.jobs)
        served = self.served[job]
        live = (served == 0) | (served > retry)
        retry, job = retry[live], job[live]
        if self.downstream.limit is not None and len(job) > self.downstream.limit:
            self._knock_over(window, crowded, down)
            return
        # A job's second call in a window comes after it was served or refused there: neither changes it.
        again = (retry > 0) & (self.window[retry - 1, job] == window)
        if again.any():
            retry, job = retry[~again], job[~again]
        if len(job) > self.downstream.per_window:
            since = self.times[retry, job].astype(np.int64) - self.downstream.start(window)
            first = np.argpartition(since * self.jobs + job, self.downstream.per_window - 1)
            first = first[: self.downstream.per_window]
            retry, job = retry[first], job[first]
        self.served[job] = retry + 1

    def _knock_over(self, window: int, crowded: np.ndarray, down: np.ndarray) -> None:
        """Close the windows of this collapse, and settle anew whom a later quiet window was to serve."""
        self.knocked.append(self.downstream.start(window))
        down[window : window + self.downstream.windows_lost] = True
        quiet = ~crowded & ~down
        for part in blocks(self.jobs):
            served = self.served[part]
            at = self.window[np.maximum(served, 1) - 1, np.arange(part.start, part.stop)]
            later = (served > 0) & (at > window)
            served[later] = 0
            unserved = served == 0
            for k in reversed(range(self.retries)):
                served[unserved & quiet[self.window[k, part]]] = k + 1


def _groups(windows: np.ndarray, calls: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """The calls of each window, window after window."""
    of = windows[calls]
    order = np.argsort(of, kind="stable")
    calls, of = calls[order], of[order]
    edges = [0, *(np.flatnonzero(np.diff(of)) + 1).tolist(), len(of)]
    return [(int(of[a]), calls[a:b]) for a, b in itertools.pairwise(edges) if a < b]
