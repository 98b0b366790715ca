"""When to try again: how long a job waits after its n-th failed run.

A policy is a schedule (how long, without chance) and a jitter (what chance makes of it). The cap
comes first, the jitter last: a cap after the jitter would put every long wait on the same instant
again. Each formula works on a number and on a numpy array alike, so that the queue and the
simulator compute the very same milliseconds.

`attempt` is always the number of failed runs so far: 1 after the first failure.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol

from jobkit.clock import TEN_YEARS, Seconds, to_ms
from jobkit.errors import BackoffError, DelayError

if TYPE_CHECKING:
    from random import Random

    import numpy as np

Number = Any
"""A float or a numpy array of floats: the formulas below serve both."""


class Backoff(Protocol):
    """What a worker needs of a policy; write your own with this one method."""

    def delay(self, attempt: int, rng: Random) -> int:
        """Return how long to wait after the `attempt`-th failed run, in ms."""


class Jitter(Protocol):
    """What chance makes of a delay: `u` is uniform in [0, 1)."""

    def __call__(self, delay: Number, u: Number) -> Number:
        """Return the delay with jitter, in the unit of `delay`."""


def none(delay: Number, u: Number) -> Number:
    """Exactly the delay: all that failed together comes back together."""
    return delay + 0 * u


def full(delay: Number, u: Number) -> Number:
    """Anywhere between nothing and the delay: U(0, delay).

    The lowest peak of the jitters, and the longest tail.
    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    return delay * u


def equal(delay: Number, u: Number) -> Number:
    """Half of it for sure, half by chance: delay/2 + U(0, delay/2). Source: as `full`."""
    return delay / 2 + delay / 2 * u


def proportional(fraction: float) -> Jitter:
    """Give or take a fraction: delay x U(1 - fraction, 1 + fraction); 0.2 is +-20 %."""
    if not _lies_between(fraction, 0, 1):
        raise BackoffError(f"the fraction of a proportional jitter lies between 0 and 1, got {fraction!r}")

    def jitter(delay: Number, u: Number) -> Number:
        return delay * (1 - fraction + 2 * fraction * u)

    jitter.__name__ = f"proportional({fraction:g})"
    return jitter


def additive(extra: Seconds) -> Jitter:
    """A little on top: delay + U(0, extra), `extra` in seconds."""
    extra_ms = _ms(extra, "extra")

    def jitter(delay: Number, u: Number) -> Number:
        return delay + extra_ms * u

    jitter.__name__ = f"additive({extra_ms / 1000:g})"
    return jitter


class _Policy(ABC):
    """What the policies share: the wait as a formula of chance, cut to whole ms, for one job or for many."""

    @abstractmethod
    def wait(self, attempt: Number, u: Number, last: Number = None) -> Number:
        """Return the wait in ms, not yet cut to whole ones; numbers or arrays alike.

        `u` is chance, uniform in [0, 1); `last` is the wait before, for a policy that asks.
        """

    def delay(self, attempt: int, rng: Random) -> int:
        """Return how long to wait after the `attempt`-th failed run, in ms."""
        if attempt < 1:
            raise BackoffError(f"attempts are counted from 1, got {attempt!r}")
        return int(self.wait(attempt, rng.random()))

    def delays(self, attempts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the delays (int64 ms, the shape of `attempts`): the same formula, vectorised."""
        import numpy as np

        attempts = np.asarray(attempts)
        if attempts.size and attempts.min() < 1:
            raise BackoffError("attempts are counted from 1")
        return np.asarray(self.wait(attempts, rng.random(attempts.shape))).astype(np.int64)


class _Schedule(_Policy):
    """A policy that is a schedule, a delay for each attempt, with a jitter on top."""

    def __init__(self, name: str, steps: tuple[float, ...], jitter: Jitter) -> None:
        if not callable(jitter):
            raise BackoffError(f"jitter is a function of (delay, u) such as jobkit.full, got {jitter!r}")
        self._name, self._steps, self.jitter = name, steps, jitter

    def __repr__(self) -> str:
        return f"{self._name}, jitter={getattr(self.jitter, '__name__', self.jitter)})"

    def wait(self, attempt: Number, u: Number, last: Number = None) -> Number:  # noqa: ARG002 - no chain
        """Return the wait in ms, not yet cut; past the last step, that one holds."""
        if isinstance(attempt, int):
            return self.jitter(self._steps[min(attempt, len(self._steps)) - 1], u)
        import numpy as np

        return self.jitter(np.asarray(self._steps)[np.minimum(attempt, len(self._steps)) - 1], u)


class Table(_Schedule):
    """The delays written out, in seconds: `Table(5, 30, 300, 3600)`; the last one repeats."""

    def __init__(self, *seconds: Seconds, jitter: Jitter = none) -> None:
        if not seconds:
            raise BackoffError("a table needs at least one delay")
        steps = tuple(float(_ms(s, "a table's delay")) for s in seconds)
        super().__init__("Table(" + ", ".join(f"{step / 1000:g}" for step in steps), steps, jitter)


class Exponential(_Schedule):
    """min(cap, base x factor^(attempt-1)) seconds: 1, 2, 4, 8, ... 3600 by default.

    Documents count n in different ways; the named constructors are theirs.
    """

    def __init__(
        self,
        base: Seconds = 1,
        *,
        factor: float = 2.0,
        cap: Seconds = 3600,
        jitter: Jitter = full,
        first_exponent: int = 0,
    ) -> None:
        base_ms, cap_ms = _ms(base, "base"), _ms(cap, "cap")
        if not 1 <= base_ms <= cap_ms:
            raise BackoffError(f"base must be at least 1 ms and at most the cap, got base={base!r}, cap={cap!r}")
        if not _lies_between(factor, 1, 1000):
            raise BackoffError(f"factor must lie between 1 and 1000, got {factor!r}")
        if not isinstance(first_exponent, int) or not _lies_between(first_exponent, 0, 1000):
            raise BackoffError(f"first_exponent is a whole number from 0 to 1000, got {first_exponent!r}")
        # Past this exponent the cap holds. Clamping it before the power keeps factor^n finite.
        last = 0 if factor == 1 else math.ceil(math.log(cap_ms / base_ms, factor)) + 1
        if last > 10_000:
            raise BackoffError(f"factor {factor!r} is so close to 1 that the cap is {last} attempts away")
        exponents = range(first_exponent, max(first_exponent, last) + 1)
        steps = tuple(min(float(cap_ms), base_ms * factor ** min(e, last)) for e in exponents)
        first = f", first_exponent={first_exponent}" if first_exponent else ""
        name = f"Exponential({base_ms / 1000:g}, factor={factor:g}, cap={cap_ms / 1000:g}{first}"
        super().__init__(name, steps, jitter)

    @classmethod
    def counting_attempts(cls, base: Seconds = 5, *, cap: Seconds = 3600, jitter: Jitter = none) -> Exponential:
        """Wait base x 2^attempts, with attempts counted up before: 10, 20, 40, ..."""
        return cls(base, cap=cap, jitter=jitter, first_exponent=1)

    @classmethod
    def counting_retries(cls, base: Seconds = 2, *, cap: Seconds = 60, jitter: Jitter = none) -> Exponential:
        """Wait min(base x 2^retries, cap), with no retry made yet: 2, 4, 8, 16, 32, 60, 60, ..."""
        return cls(base, cap=cap, jitter=jitter)

    @classmethod
    def plus_up_to(cls, extra: Seconds = 0.5, *, cap: Seconds = TEN_YEARS) -> Exponential:
        """Wait 2^attempt seconds plus up to `extra` by chance: 2.0-2.5, 4.0-4.5, 8.0-8.5, ..."""
        return cls(1, cap=cap, jitter=additive(extra), first_exponent=1)

    @classmethod
    def aws(cls, base: Seconds = 0.005, *, cap: Seconds = 2, jitter: Jitter = full) -> Exponential:
        """Wait min(cap, base x 2^n), n = 1 after the first failure: 10, 20, 40 ms, ... Source: as `full`."""
        return cls(base, cap=cap, jitter=jitter, first_exponent=1)


class Decorrelated(_Policy):
    """Each wait between the base and three times the last one: s = min(cap, U(base, 3 s)), s = base at first.

    A queue does not remember the last wait, so `delay` draws the whole chain anew: the same
    distribution after each attempt, without the memory between them. Source: as `full`.
    """

    def __init__(self, base: Seconds = 1, *, cap: Seconds = 3600) -> None:
        self._base, self._cap = float(_ms(base, "base")), float(_ms(cap, "cap"))
        if not 1 <= self._base <= self._cap:
            raise BackoffError(f"base must be at least 1 ms and at most the cap, got base={base!r}, cap={cap!r}")

    def __repr__(self) -> str:
        return f"Decorrelated({self._base / 1000:g}, cap={self._cap / 1000:g})"

    def wait(self, attempt: Number, u: Number, last: Number = None) -> Number:  # noqa: ARG002 - the chain counts
        """Return the wait in ms, not yet cut; `last` is the wait before, the base if there was none."""
        wait = self._base + (3 * (self._base if last is None else last) - self._base) * u
        if isinstance(wait, float):
            return min(self._cap, wait)
        import numpy as np

        return np.minimum(self._cap, wait)

    def delay(self, attempt: int, rng: Random) -> int:
        """Return how long to wait after the `attempt`-th failed run, in ms."""
        if attempt < 1:
            raise BackoffError(f"attempts are counted from 1, got {attempt!r}")
        wait = self._base
        for n in range(attempt):
            wait = self.wait(n + 1, rng.random(), wait)
        return int(wait)

    def delays(self, attempts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the delays (int64 ms, the shape of `attempts`): the same formula, vectorised."""
        import numpy as np

        attempts = np.asarray(attempts)
        if attempts.size and attempts.min() < 1:
            raise BackoffError("attempts are counted from 1")
        wait = np.full(attempts.shape, self._base)
        for n in range(int(attempts.max(initial=0))):
            wait = np.where(attempts > n, self.wait(n + 1, rng.random(attempts.shape), wait), wait)
        return wait.astype(np.int64)


def _lies_between(value: object, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _ms(value: Seconds, what: str) -> int:
    """As to_ms, but a policy that says "a while ago" is no policy."""
    try:
        ms = to_ms(value, what)
    except DelayError as error:
        raise BackoffError(str(error)) from None
    negative = value < timedelta() if isinstance(value, timedelta) else value < 0
    if negative:
        raise BackoffError(f"{what} must not be negative, got {value!r}")
    return ms
