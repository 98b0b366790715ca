"""Don't my workers already limit this? The same downstream, called by a limited pool of workers.

A due retry waits until a worker is free, in the order of (due, job). The workers come free evenly,
one every service / workers, as those of a busy pool do: no span of s seconds sees more than
s x workers / service + 1 calls start. (A pool that was all idle could start `workers` of them at
one instant; that burst is not in the model.) A failed call is known when its service time is over,
and the wait is counted from there.

Now a call's time depends on who was served before. It is still exact in chunks: a call that starts
in a chunk no longer than the service time comes back in a later one.
"""

from __future__ import annotations

import heapq
from random import Random
from typing import Any, NamedTuple

import numpy as np

from jobkit.progress import bar
from jobkit.storm.draw import ticked, waits
from jobkit.storm.window import Downstream


class Pool(NamedTuple):
    """So many workers, each busy for so long with a call."""

    workers: int
    service_ms: int


def serve_by(
    pool: Pool,
    downstream: Downstream,
    policy: Any,
    *,
    jobs: int,
    retries: int,
    rng: Random | np.random.Generator,
    poll_ms: int = 0,
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Run the storm through a pool.

    Returns when each retry starts (int64 ms, (retries, jobs), -1 for one that is not made), which
    retry served each job (uint8, 0 for none), and when the downstream was knocked over (ms).
    """
    drawn = np.stack([waits(policy, k + 1, jobs, rng) for k in range(retries)])
    return _Run(pool, downstream, drawn, poll_ms).run()


class _Calls(NamedTuple):
    at: np.ndarray
    job: np.ndarray
    retry: np.ndarray

    def where(self, mask: np.ndarray | slice) -> _Calls:
        return _Calls(self.at[mask], self.job[mask], self.retry[mask])

    @classmethod
    def joined(cls, parts: list[_Calls]) -> _Calls:
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))


class _Run:
    def __init__(self, pool: Pool, downstream: Downstream, drawn: np.ndarray, poll_ms: int) -> None:
        self.pool, self.downstream, self.drawn, self.poll_ms = pool, downstream, drawn, poll_ms
        whole = downstream.limit is not None  # a collapse is known when its window is complete
        self.chunk_ms = pool.service_ms // downstream.window_ms * downstream.window_ms if whole else pool.service_ms
        self.retries, self.jobs = drawn.shape
        self.times = np.full(drawn.shape, -1, dtype=np.int64)
        self.served = np.zeros(self.jobs, dtype=np.uint8)
        self.knocked: list[int] = []
        self.down_until = downstream.outage_ms
        self.due: dict[int, list[_Calls]] = {}
        self.chunks: list[int] = []
        self.free = 0  # when the next worker is free, in 1/workers ms, so that it is a whole number
        self.last_window, self.last_served = 0, 0

    def run(self) -> tuple[np.ndarray, np.ndarray, list[int]]:
        everybody = np.arange(self.jobs)
        none = np.zeros(self.jobs, dtype=np.int64)
        self._schedule(_Calls(ticked(self.drawn[0], self.poll_ms), everybody, none))
        waiting = _Calls(none[:0], none[:0], none[:0])
        for chunk in bar(iter(self._next, None), "workers"):
            end = self.downstream.outage_ms + (chunk + 1) * self.chunk_ms
            if parts := self.due.pop(chunk, None):
                waiting = _Calls.joined([waiting, self._started(_Calls.joined(parts))])
            now = int(np.searchsorted(waiting.at, end))
            self._answer(waiting.where(slice(None, now)))
            waiting = waiting.where(slice(now, None))
            if len(waiting.at):
                self._visit(self._chunk(waiting.at[:1])[0])
        return self.times, self.served, self.knocked

    def _chunk(self, at: np.ndarray) -> np.ndarray:
        return (at - self.downstream.outage_ms) // self.chunk_ms

    def _visit(self, chunk: int) -> None:
        if chunk not in self.due:
            self.due[chunk] = []
            heapq.heappush(self.chunks, int(chunk))

    def _next(self) -> int | None:
        return heapq.heappop(self.chunks) if self.chunks else None

    def _schedule(self, calls: _Calls) -> None:
        """Put calls that fall due into their chunks."""
        chunk = self._chunk(calls.at)
        order = np.argsort(chunk, kind="stable")
        names, starts = np.unique(chunk[order], return_index=True)
        for name, part in zip(names.tolist(), np.split(order, starts[1:]), strict=True):
            self._visit(name)
            self.due[name].append(calls.where(part))

    def _started(self, due: _Calls) -> _Calls:
        """Hand due calls to workers, first due first: start = max(due, when the next one is free)."""
        due = due.where(np.lexsort((due.job, due.at)))
        ahead = np.arange(len(due.at)) * self.pool.service_ms
        wanted = due.at * self.pool.workers - ahead
        wanted[0] = max(wanted[0], self.free)
        starts = np.maximum.accumulate(wanted) + ahead
        self.free = int(starts[-1]) + self.pool.service_ms
        return due._replace(at=starts // self.pool.workers)

    def _answer(self, calls: _Calls) -> None:
        """Serve what the downstream can; schedule the retries of the rest."""
        self.times[calls.retry, calls.job] = calls.at
        served = self._serve(calls.at)
        self.served[calls.job[served]] = calls.retry[served] + 1
        again = calls.where(~served & (calls.retry + 1 < self.retries))
        if len(again.at):
            after = again.at + self.pool.service_ms + self.drawn[again.retry + 1, again.job]
            self._schedule(_Calls(ticked(after, self.poll_ms), again.job, again.retry + 1))

    def _serve(self, at: np.ndarray) -> np.ndarray:
        """Which calls of a chunk are served: those that come first in a window that is up."""
        window = self.downstream.windows(at)
        names, starts, calls = np.unique(window, return_index=True, return_counts=True)
        served = np.zeros(len(at), dtype=bool)
        for name, start, many in zip(names.tolist(), starts.tolist(), calls.tolist(), strict=True):
            begin = self.downstream.start(name)
            if name == 0 or begin < self.down_until:
                continue
            if self.downstream.limit is not None and many > self.downstream.limit:
                self.knocked.append(begin)
                self.down_until = begin + self.downstream.windows_lost * self.downstream.window_ms
                continue
            before = self.last_served if name == self.last_window else 0
            mine = min(many, self.downstream.per_window - before)
            served[start : start + mine] = True
            self.last_window, self.last_served = name, before + mine
        return served
