"""Time and chance: the only module that asks the machine for either.

Outside, durations are seconds (int, float or timedelta); inside, integer milliseconds. They are
turned once, here. No clock of this module decides when a job is due: Redis TIME does, inside the
scripts. These clocks wait, and, in the virtual case, move the fake server's own time.
"""

from __future__ import annotations

import heapq
import itertools
import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta

from jobkit.errors import ConfigError, DelayError

Seconds = float | timedelta
"""A duration in the public API: int, float or timedelta, in seconds."""

TEN_YEARS = 315_360_000
"""The longest duration that is accepted, in seconds."""


def to_ms(value: Seconds, what: str = "delay", *, least: int = 0) -> int:
    """Turn a duration in seconds into integer milliseconds, rounded to the nearest.

    A negative number becomes 0: "a while ago" means now. Raises DelayError for what is no number
    of seconds (NaN, infinity, bool, text, None), for more than ten years, and for less than
    `least` ms.
    """
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not number or not float("-inf") < seconds <= TEN_YEARS:  # NaN is on neither side
        floor = f"from {least / 1000:g}" if least else f"(less than 0 means {'now' if what == 'delay' else 0})"
        raise DelayError(
            f"{what} must be a number of seconds {floor} up to {TEN_YEARS} (ten years), got {value!r:.100}"
        )
    ms = round(max(0, seconds) * 1000)
    if ms < least:
        raise DelayError(f"{what} must be at least {least / 1000:g} s, got {value!r}")
    return ms


def spoken(ms: float) -> str:
    """Say a duration as a person would: 40 ms, 5.3 s, 50.8 min, 26 h, 12 days."""
    for limit, unit, name in _UNITS:
        if ms < limit:
            return f"{ms / unit:.3g} {name}"
    return f"{ms / 86_400_000:.3g} days"


_UNITS = ((1000, 1, "ms"), (600_000, 1000, "s"), (7_200_000, 60_000, "min"), (172_800_000, 3_600_000, "h"))


def moment_ms(value: datetime, now: int) -> int:
    """Turn an aware datetime into ms since the epoch.

    `now` (ms) only bounds what is plausible; it decides nothing. Raises DelayError for a naive
    datetime, for what is no datetime, and for more than ten years ahead.
    """
    if not isinstance(value, datetime):
        raise DelayError(f"at must be a datetime with a time zone, got {value!r}")
    if value.utcoffset() is None:
        raise DelayError(f"at must have a time zone: {value!r} is naive, so nobody knows which instant it names")
    ms = max(0, round(value.timestamp() * 1000))
    if ms > now + TEN_YEARS * 1000:
        raise DelayError(f"at must be within ten years from now, got {value!r}")
    return ms


def new_rng(seed: int | None = None) -> random.Random:
    """Return a source of chance: seeded, or from the operating system (safe after a fork)."""
    return random.SystemRandom() if seed is None else random.Random(seed)


class Clock:
    """Real time. Its subclasses can also be moved."""

    virtual = False
    """True where nobody really waits: no threads then, timers run when the clock passes them."""
    can_advance = False

    def now(self) -> int:
        """Return ms since the epoch, by this machine: for display and plausibility, never to decide."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Return seconds on a clock that never steps back: for waiting."""
        return time.monotonic()

    def sleep(self, seconds: Seconds) -> None:
        """Wait."""
        time.sleep(to_ms(seconds, "sleep") / 1000)

    def advance(self, seconds: Seconds) -> None:
        """Move time forward, where that can be done: on the fake, or on a server that the kit started."""
        raise ConfigError(
            f"this server's time cannot be moved by {seconds} s: use jobkit.connect() without a URL, "
            'or jobkit.connect("fake", clock=jobkit.VirtualClock())'
        )


class Timer:
    """A call that repeats every `period_ms` of virtual time until it is cancelled."""

    __slots__ = ("call", "cancelled", "period_ms")

    def __init__(self, period_ms: int, call: Callable[[], object]) -> None:
        self.period_ms = period_ms
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        """Never call it again."""
        self.cancelled = True


class VirtualClock(Clock):
    """Time that moves only when told to: `clock.advance(5)` takes no time at all.

    It starts at `start` ms since the epoch, by default at 2026-01-01 00:00 UTC.
    """

    virtual = True
    can_advance = True

    def __init__(self, start: int = 1_767_225_600_000) -> None:
        self._now = start
        self._timers: list[tuple[int, int, Timer]] = []
        self._order = itertools.count()

    def __repr__(self) -> str:
        return f"VirtualClock(start={self._now})"

    def now(self) -> int:
        """Return ms since the epoch, as far as this clock has come."""
        return self._now

    def monotonic(self) -> float:
        """Return the same moment in seconds."""
        return self._now / 1000

    def sleep(self, seconds: Seconds) -> None:
        """Let time pass; timers that fall due meanwhile run at their moment."""
        self.advance(seconds)

    def advance(self, seconds: Seconds) -> None:
        """Move forward, running each timer at the moment it falls due, earliest first."""
        target = self._now + to_ms(seconds, "advance")
        while self._timers and self._timers[0][0] <= target:
            due, _, timer = heapq.heappop(self._timers)
            if timer.cancelled:
                continue
            self._now = max(self._now, due)
            self._push(due + timer.period_ms, timer)
            timer.call()
        self._now = max(self._now, target)

    def every(self, period_ms: int, call: Callable[[], object]) -> Timer:
        """Call `call` each time another `period_ms` of virtual time have passed, until cancelled."""
        timer = Timer(period_ms, call)
        self._push(self._now + period_ms, timer)
        return timer

    def _push(self, due: int, timer: Timer) -> None:
        heapq.heappush(self._timers, (due, next(self._order), timer))
