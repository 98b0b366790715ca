"""A queue with a timeout: how retries keep a downstream down after its outage is over.

Requests come at random (Poisson), one server serves them first come first served, and a client
gives up after a timeout and tries again. What it gave up is served all the same: after an outage
the server works through calls that nobody waits for, while every client sends more of them. With
`rate` x (1 + retries) above the capacity this feeds itself: a metastable failure.

Source of the word: N. Bronson et al., "Metastable Failures in Distributed Systems", HotOS 2021.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jobkit.clock import Seconds
from jobkit.errors import ConfigError
from jobkit.storm import given, guards, lindley
from jobkit.storm.guards import Breaker, Budget, Guards
from jobkit.storm.lindley import Calls, Server

MS, S = 1_000_000, 1_000_000_000
"""In ns."""

BACK = 0.9
"""Goodput is back when, from then on, this share of each second's requests is answered in time."""


def metastable(
    rate: float = 280,
    *,
    capacity: float = 300,
    timeout: Seconds = 1,
    outage: Seconds = 10,
    retries: int = 0,
    policy: Any = None,
    budget: Budget | None = None,
    breaker: Breaker | None = None,
    shed: Seconds | None = None,
    before: Seconds = 10,
    after: Seconds = 300,
    seed: given.Chance = 0,
) -> Outage:
    """Send `rate` requests a second to a server of `capacity` calls a second, and freeze it for `outage`.

    A client waits `timeout` for an answer, and then tries again, at most `retries` times, at once
    or after what `policy` says. `budget` bounds the retries, `breaker` stops calls after many
    timeouts, `shed` drops a call that has waited longer when its turn comes. The run begins `before`
    the outage and ends `after` it; all durations are seconds. Raises ConfigError.
    """
    rate = given.number(rate, "rate", 0, 1e6, above=True)
    service = round(S / given.number(capacity, "capacity", 1e-3, 1e6))
    timeout_ns = MS * given.span_ms(timeout, "timeout", least=1)
    begin, down = (MS * given.span_ms(span, what) for span, what in ((before, "before"), (outage, "outage")))
    until = begin + down + MS * given.span_ms(after, "after", least=1)
    retries = given.count(retries, "retries", 0, 100)
    for guard, kind in ((budget, Budget), (breaker, Breaker)):
        if guard is not None and not isinstance(guard, kind):
            raise ConfigError(f"{kind.__name__.lower()} must be a jobkit.storm.{kind.__name__}, got {guard!r}")
    rng = given.generator(seed)
    fresh = poisson(rate, until, rng)
    waits = np.zeros((retries, len(fresh)), dtype=np.int64)
    if policy is not None:
        given.policy(policy)
        for k in range(retries):
            waits[k] = MS * np.asarray(policy.delays(np.full(len(fresh), k + 1), rng))
    server = Server(service, begin, down)
    rejected = np.zeros(0, dtype=np.int64)
    if budget is None and breaker is None and shed is None:
        calls = lindley.play(fresh, waits, server, timeout_ns, until)
    else:
        rules = Guards(budget, breaker, None if shed is None else MS * given.span_ms(shed, "shed", least=1))
        calls, rejected = guards.play(fresh, waits, server, timeout_ns, until, guards=rules)
    patience = (retries + 1) * timeout_ns + int(waits.sum(axis=0).max(initial=0))
    return Outage(rate, server, timeout_ns, fresh, calls, rejected, until, patience)


def poisson(rate: float, until_ns: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the arrivals of a Poisson process of `rate` per second: sorted int64 ns below `until_ns`."""
    expected = rate * until_ns / S
    gaps = rng.exponential(S / rate, size=int(expected + 8 * expected**0.5 + 16))
    at = np.cumsum(gaps)
    return at[at < until_ns].astype(np.int64)


def coin_flip(p: float, retries: int) -> float:
    """Calls per request on a downstream of which each call fails with chance p, by itself: (1-p^(R+1))/(1-p).

    R + 1 at p = 1. A downstream that is overloaded fails otherwise: the more calls, the more failures.
    """
    p, retries = given.number(p, "p", 0, 1), given.count(retries, "retries", 0, 1000)
    return float(sum(p**n for n in range(retries + 1)))


@dataclass(frozen=True, eq=False, repr=False)
class Outage:
    """What came of an outage. Times in the arrays are int64 ns since the start of the run."""

    rate: float
    server: Server
    timeout_ns: int
    fresh: np.ndarray
    """When each request came, (requests,)."""
    calls: Calls
    """All calls that reached the server, in order of arrival."""
    rejected: np.ndarray
    """The requests that the breaker turned away."""
    until_ns: int
    patience_ns: int
    """How long a request may take to be decided; those that came later than that before the end are not judged."""

    @property
    def over_ns(self) -> int:
        """When the outage ends."""
        return self.server.outage_ns + self.server.down_ns

    @cached_property
    def answered(self) -> np.ndarray:
        """Which requests were answered in time, at one of their tries: bool, (requests,)."""
        in_time = (self.calls.done >= 0) & (self.calls.done - self.calls.at <= self.timeout_ns)
        answered = np.zeros(len(self.fresh), dtype=bool)
        answered[self.calls.request[in_time]] = True
        return answered

    def goodput(self, bin: Seconds = 1.0) -> np.ndarray:  # noqa: A002 - the word of the field
        """Requests answered in time per second, by when they came, in bins counted from the end of the outage.

        The first bin is the one at -before; int64 counts turned into a rate per second, float64.
        """
        return self._rate(self.fresh[self.answered], bin)

    def load(self, bin: Seconds = 1.0) -> np.ndarray:  # noqa: A002
        """Calls per second that reach the server, retries included, in the same bins."""
        return self._rate(self.calls.at, bin)

    def starts(self, bin: Seconds = 1.0) -> np.ndarray:  # noqa: A002
        """Where those bins start: seconds from the end of the outage, (bins,)."""
        size = given.span_ms(bin, "bin", least=1) * MS
        return np.arange(-(self.over_ns // size), -(-(self.until_ns - self.over_ns) // size)) * (size / S)

    def _rate(self, at: np.ndarray, bin: Seconds) -> np.ndarray:  # noqa: A002
        size = given.span_ms(bin, "bin", least=1) * MS
        first = self.over_ns // size
        number = (at - self.over_ns) // size + first
        return np.bincount(number[number >= 0], minlength=len(self.starts(bin))) / (size / S)

    @cached_property
    def empty_after_s(self) -> float | None:
        """How long after the outage the queue was empty for the first time; None if never."""
        idle = np.maximum.accumulate(self.calls.done)[:-1]
        empty = (self.calls.at[1:] >= idle) & (self.calls.at[1:] >= self.over_ns)
        if not empty.any():
            return None
        return max(0, int(idle[empty.argmax()]) - self.over_ns) / S

    @cached_property
    def back_after_s(self) -> float | None:
        """How long after the outage goodput was back for good; 0 if it never went, None if it did not come back.

        That is: when the last request came that was not answered, in the last second that was bad (see `BACK`).
        """
        judged = self.fresh < self.until_ns - self.patience_ns
        second = (self.fresh - self.over_ns) // S
        judged &= second * S + self.over_ns >= 0
        first = int(second[judged].min())
        came = np.bincount(second[judged] - first)
        served = np.bincount(second[judged & self.answered] - first, minlength=len(came))
        bad = np.flatnonzero(served[:-1] < BACK * came[:-1])  # the last second may be cut short
        if not len(bad):
            return 0.0
        last = int(bad[-1])
        if last >= len(came) - 6:
            return None
        lost = self.fresh[judged & ~self.answered & (second == last + first)]
        return max(0, int(lost[-1]) - self.over_ns) / S

    @property
    def recovered(self) -> bool:
        """Whether goodput came back, before the end of the run."""
        return self.back_after_s is not None

    @property
    def amplification(self) -> float:
        """Calls that reached the server, per request."""
        return len(self.calls.at) / len(self.fresh)

    def __repr__(self) -> str:
        came = "never comes back" if self.back_after_s is None else f"is back after {self.back_after_s:,.0f} s"
        empty = "never empty again" if self.empty_after_s is None else f"empty after {self.empty_after_s:,.0f} s"
        return (
            f"{self.rate:g}/s for {S / self.server.service_ns:,.0f}/s, down for {self.server.down_ns / S:g} s: "
            f"goodput {came}, the queue is {empty}; {self.amplification:.2f} calls per request, "
            f"{self.answered.mean():.0%} answered in time"
        )
