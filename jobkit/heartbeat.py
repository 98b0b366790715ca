"""Heartbeats: what keeps the lease of a running job alive, and carries news to its handler.

A thread, so that a handler that blocks does not starve it. (One that holds the GIL in a C call
does; then the lease ends, and fencing tokens keep the peace.) On a virtual clock it is a timer,
which runs while the handler sleeps on that clock.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from jobkit.clock import Timer, VirtualClock
from jobkit.errors import Cancelled, LeaseLost, RunTooLong
from jobkit.job import Claim
from jobkit.queue import CHUNK, Queue

log = logging.getLogger("jobkit.worker")


@dataclass(slots=True)
class Run:
    """A handler at work: in which thread, and until when at most (on the clock's monotonic scale)."""

    claim: Claim
    thread: int
    deadline: float
    timer: Timer | None
    """On a virtual clock, what rings at the deadline."""
    overdue: bool = False
    """Its time was over, it was told so, and the deadline is now that of its grace."""


class Heartbeat:
    """Renews the leases of all claims that one worker holds, at a third of the shortest of them.

    `overdue` is called with a claim that has run longer than `max_run` seconds, to settle it and to
    tell the handler by the claim's `stop`; `hung` if the handler has not ended `grace` seconds after.
    """

    def __init__(
        self,
        queue: Queue,
        max_run: float | None,
        grace: float,
        overdue: Callable[[Claim], None],
        hung: Callable[[Claim], None],
    ) -> None:
        self._queue, self._max_run, self._grace = queue, max_run, grace
        self._overdue, self._hung = overdue, hung
        # The lock itself, not `with` the condition: that is Python code, which holds the lock when the exception
        # for a handler that just ended finds it there, and never gives it back.
        self._lock = threading.RLock()
        self._news = threading.Condition(self._lock)
        self._held: dict[int, Claim] = {}
        self.period = self._third()
        self._runs: dict[int, Run] = {}
        self._thread: threading.Thread | None = None
        self._timer: Timer | None = None

    def hold(self, claims: Iterable[Claim]) -> None:
        """Renew these from now on."""
        with self._lock:
            self._held.update((claim.token, claim) for claim in claims)
            before, self.period = self.period, self._third()
            if self._held and self._thread is None and self._timer is None:
                self._begin()
            elif self.period < before:  # a job with a shorter lease than those before it
                self._begin_anew()

    def drop(self, claims: Iterable[Claim]) -> None:
        """Renew these no more: they are settled."""
        with self._lock:
            for claim in claims:
                self._held.pop(claim.token, None)
            if not self._held and self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def held(self) -> list[Claim]:
        """Return the claims that are not settled yet."""
        with self._lock:
            return list(self._held.values())

    def begin(self, claim: Claim) -> None:
        """Note that a handler starts, in this thread: its maximum run time counts from now."""
        if self._max_run is not None:
            clock, timer = self._queue.clock, None
            if isinstance(clock, VirtualClock):
                timer = clock.every(max(1, round(self._max_run * 1000)), self._look_at_the_time)
            with self._lock:
                here, deadline = threading.get_ident(), clock.monotonic() + self._max_run
                self._runs[claim.token] = Run(claim, here, deadline, timer)
                self._news.notify()

    def end(self, claim: Claim) -> None:
        """Note that the handler is back; may be said twice."""
        if self._max_run is not None:
            with self._lock:
                run = self._runs.pop(claim.token, None)
                if run is not None and run.timer is not None:
                    run.timer.cancel()

    def _third(self) -> float:
        """Return the seconds between two beats."""
        leases = [claim.lease_ms or self._queue.lease_ms for claim in self._held.values()]
        return min(leases, default=self._queue.lease_ms) / 3000

    def _begin_anew(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._begin()
        self._news.notify()

    def _begin(self) -> None:
        clock = self._queue.clock
        if isinstance(clock, VirtualClock):
            self._timer = clock.every(max(1, int(self.period * 1000)), self.beat)
        else:
            self._thread = threading.Thread(target=self._loop, name="jobkit-heartbeat", daemon=True)
            self._thread.start()

    def _loop(self) -> None:
        """Beat until nothing is held at the time of a beat; then end, rather than idle for ever."""
        clock = self._queue.clock
        next_beat = clock.monotonic() + self.period
        while True:
            with self._lock:
                next_beat = min(next_beat, clock.monotonic() + self.period)
                deadline = min((run.deadline for run in self._runs.values()), default=next_beat)
                self._news.wait(max(0.0, min(next_beat, deadline) - clock.monotonic()))
                if clock.monotonic() >= next_beat and not self._held and not self._runs:
                    self._thread = None
                    return
            if clock.monotonic() >= next_beat:
                next_beat = clock.monotonic() + self.period
                self.beat()
            else:
                self._look_at_the_time()

    def beat(self) -> None:
        """Renew all leases once, and tell the handlers what came back."""
        claims = self.held()
        for start in range(0, len(claims), CHUNK):
            chunk = claims[start : start + CHUNK]
            try:
                answers = self._queue.each("extend", chunk)
            except Exception as error:  # noqa: BLE001 - any failure means the same: unknown, which is not lost
                log.warning("a heartbeat failed (%s); the leases may still hold", error)
                continue
            for claim, answer in zip(chunk, answers, strict=True):
                if answer == "cancel":
                    claim.stop = claim.stop or Cancelled
                elif answer == "stale" and claim.token in self._held:  # not settled in the meantime
                    claim.stop = LeaseLost
        self._look_at_the_time()

    def _look_at_the_time(self) -> None:
        now, here = self._queue.clock.monotonic(), threading.get_ident()
        with self._lock:
            past = [run for run in self._runs.values() if run.deadline <= now]
            late = [run for run in past if not run.overdue]
            hung = [run for run in past if run.overdue]
            for run in late:
                run.overdue, run.deadline = True, now + self._grace
            for run in hung:
                del self._runs[run.claim.token]
        for run in hung:
            self._hung(run.claim)
        for run in late:
            self._overdue(run.claim)
            if run.thread == here:
                run.claim.check()  # a timer runs inside the handler's own sleep: raise there
            with self._lock:
                # Under the lock: the handler's thread passes through `end`, which waits for it, so
                # that the exception finds it in the handler or there, and nowhere later.
                if run.claim.token in self._runs:
                    _raise_in(run.thread, RunTooLong)


def _raise_in(thread: int, error: type[BaseException]) -> None:
    """Raise `error` in another thread, at its next Python instruction; a C call that hangs stays hung."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
