"""What ends a metastable failure: retry budgets, a circuit breaker, load shedding. Event by event.

With a guard, whether a call is made depends on what came of others a moment ago, so this engine
goes through the events one by one. Without guards it gives what `lindley.play` gives.
"""

from __future__ import annotations

import heapq
from collections import deque
from typing import NamedTuple

import numpy as np

from jobkit.errors import ConfigError
from jobkit.progress import bar
from jobkit.storm import given
from jobkit.storm.lindley import Calls, Server


class Budget:
    """Retries cost a token each: no token, no retry. A token bucket that starts full.

    `ratio` tokens are earned per first attempt (`per="request"`) or per success (`per="success"`),
    up to `size`. Raises ConfigError.
    """

    def __init__(self, ratio: float = 0.1, *, per: str = "request", size: float = 10) -> None:
        self.ratio = given.number(ratio, "the ratio of a budget", 0, 1000)
        self.size = given.number(size, "the size of a budget", 0)
        if per not in {"request", "success"}:
            raise ConfigError(f'a budget is earned per "request" or per "success", got {per!r}')
        self.per = per

    def __repr__(self) -> str:
        return f"Budget({self.ratio:g}, per={self.per!r}, size={self.size:g})"


class Breaker:
    """After `failures` timeouts in a row no call is let through for `cooldown` seconds; then one at a time.

    That one's success closes it, its timeout opens it again. A call that is not let through fails
    at once, and its request is given up. Raises ConfigError.
    """

    def __init__(self, failures: int = 50, *, cooldown: float = 5) -> None:
        self.failures = given.count(failures, "the failures of a breaker", 1, 1_000_000)
        self.cooldown_ns = given.span_ms(cooldown, "the cooldown of a breaker", least=1) * 1_000_000

    def __repr__(self) -> str:
        return f"Breaker({self.failures}, cooldown={self.cooldown_ns / 1e9:g})"


class Guards(NamedTuple):
    """What is in force."""

    budget: Budget | None = None
    breaker: Breaker | None = None
    shed_ns: int | None = None
    """Calls that have waited longer than this are dropped when their turn comes: that takes no time."""


class _Guarded:
    def __init__(self, waits: np.ndarray, server: Server, timeout_ns: int, guards: Guards) -> None:
        self.waits, self.server, self.timeout_ns, self.guards = waits.tolist(), server, timeout_ns, guards
        self.free = 0
        self.calls: list[tuple[int, int, int, int]] = []
        self.rejected: list[int] = []
        self.retries: list[tuple[int, int, int]] = []
        self.outcomes: list[tuple[int, bool, int, int]] = []  # when, whether it timed out, of which call
        self.tokens = guards.budget.size if guards.budget else 0.0
        self.in_a_row = 0
        self.open_until: int | None = None
        self.probing: tuple[int, int] | None = None

    def arrive(self, at: int, request: int, attempt: int) -> None:
        """Take a call in; what will come of it is known at once, for nobody overtakes."""
        if not self._let_through(at, (request, attempt)):
            self.rejected.append(request)
            return
        server = self.server
        worked = at - min(max(at - server.outage_ns, 0), server.down_ns)
        begin = max(worked, self.free)
        begins = begin + (server.down_ns if begin > server.outage_ns else 0)
        if self.guards.shed_ns is not None and begins - at > self.guards.shed_ns:
            done = -1
        else:
            self.free = begin + server.service_ns
            done = self.free + (server.down_ns if self.free > server.outage_ns else 0)
        self.calls.append((at, request, attempt, done))
        answered = 0 <= done <= at + self.timeout_ns
        heapq.heappush(self.outcomes, (done if answered else at + self.timeout_ns, not answered, request, attempt))

    def settle(self) -> None:
        """Let the next answer or timeout happen."""
        at, timed_out, request, attempt = heapq.heappop(self.outcomes)
        self._tell_breaker(at, (request, attempt), answered=not timed_out)
        if not timed_out:
            self.earn("success")
        elif attempt < len(self.waits) and self._spend():
            heapq.heappush(self.retries, (at + self.waits[attempt][request], request, attempt + 1))

    def earn(self, per: str) -> None:
        """Put a part of a token into the bucket, if that is what earns one."""
        budget = self.guards.budget
        if budget is not None and budget.per == per:
            self.tokens = min(budget.size, self.tokens + budget.ratio)

    def _spend(self) -> bool:
        if self.guards.budget is None:
            return True
        enough = self.tokens >= 1 - 1e-9  # ten tenths are one
        self.tokens -= enough
        return enough

    def _let_through(self, at: int, call: tuple[int, int]) -> bool:
        if self.open_until is None:
            return True
        if at < self.open_until or self.probing is not None:
            return False
        self.probing = call
        return True

    def _tell_breaker(self, at: int, call: tuple[int, int], *, answered: bool) -> None:
        breaker = self.guards.breaker
        if breaker is None:
            return
        if self.open_until is not None:
            if call == self.probing:  # news of calls from before it opened change nothing
                self.probing = None
                self.open_until = None if answered else at + breaker.cooldown_ns
                self.in_a_row = 0
            return
        self.in_a_row = 0 if answered else self.in_a_row + 1
        if self.in_a_row >= breaker.failures:
            self.open_until = at + breaker.cooldown_ns


def play(
    fresh: np.ndarray, waits: np.ndarray, server: Server, timeout_ns: int, until_ns: int, *, guards: Guards
) -> tuple[Calls, np.ndarray]:
    """Play as `lindley.play` does, under guards; returns the calls, and the requests that the breaker rejected."""
    run = _Guarded(waits, server, timeout_ns, guards)
    first = deque(zip(fresh.tolist(), range(len(fresh)), strict=True))
    for begin in bar(range(0, until_ns, timeout_ns), "queue"):
        end = min(begin + timeout_ns, until_ns)
        while _step(run, first, end):
            pass
    columns = np.array(run.calls, dtype=np.int64).reshape(-1, 4).T
    return Calls(*columns), np.array(run.rejected, dtype=np.int64)


def _step(run: _Guarded, first: deque[tuple[int, int]], end: int) -> bool:
    """Let the next call before `end` arrive, after all that comes before it; False when there is none."""
    upto = first[0][0] if first and first[0][0] < end else end
    # Each outcome may bring a retry that comes before that call.
    while run.outcomes and run.outcomes[0][0] <= (min(upto, run.retries[0][0]) if run.retries else upto):
        run.settle()
    if run.retries and run.retries[0][0] < end and not (first and first[0] < run.retries[0][:2]):
        run.arrive(*heapq.heappop(run.retries))
        return True
    if upto == end:
        return False
    run.earn("request")
    run.arrive(*first.popleft(), 0)
    return True
