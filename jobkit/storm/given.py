"""What a caller may pass: each check says in one sentence what it is, what is allowed and what came."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np

from jobkit.clock import Seconds, to_ms
from jobkit.errors import ConfigError, DelayError

HUGE = 1e300
"""More than anybody means, and within what a float holds."""

Chance = int | Random | np.random.Generator
"""A seed, or a source of chance of one's own."""


def count(value: object, what: str, least: int, most: int) -> int:
    """A whole number between two bounds, both allowed."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and least <= value <= most:
        return int(value)
    raise ConfigError(f"{what} must be a whole number from {least} to {most}, got {value!r}")


def number(value: object, what: str, least: float, most: float = math.inf, *, above: bool = False) -> float:
    """A finite number of at least `least` (or `above` it) and at most `most`."""
    if (
        isinstance(value, (int, float, np.integer, np.floating))
        and not isinstance(value, bool)
        and -HUGE <= value <= HUGE
    ):
        x = float(value)
        if least <= x <= most and not (above and x == least):
            return x
    low = f"above {least:g}" if above else f"of at least {least:g}"
    high = "" if most == math.inf else f" and at most {most:g}"
    raise ConfigError(f"{what} must be a number {low}{high}, got {value!r}")


def span_ms(value: Seconds, what: str, *, least: int = 0) -> int:
    """A duration in seconds, as whole ms, of at least `least` ms."""
    try:
        ms = to_ms(value, what, least=least)
    except DelayError as error:
        raise ConfigError(str(error)) from None
    if isinstance(value, (int, float)) and value < 0:
        raise ConfigError(f"{what} must not be negative, got {value!r}")
    return ms


def policy(value: Any) -> Any:
    """A retry policy: anything with `delay(attempt, rng)`."""
    if callable(getattr(value, "delay", None)) and not isinstance(value, type):
        return value
    raise ConfigError(
        f"a policy has a method delay(attempt, rng), as jobkit.Table and jobkit.Exponential have, got {value!r}"
    )


def chance(value: object) -> Random | np.random.Generator:
    """A seed becomes a numpy Generator; a source of chance stays what it is."""
    if isinstance(value, (Random, np.random.Generator)):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and value >= 0:
        return np.random.default_rng(int(value))
    raise ConfigError(f"seed must be a whole number of at least 0, or a Random or numpy Generator, got {value!r}")


def generator(value: object) -> np.random.Generator:
    """A seed or a numpy Generator: what is drawn in arrays."""
    rng = chance(value)
    if isinstance(rng, Random):
        raise ConfigError(f"seed must be a whole number or a numpy Generator here, got {value!r}")
    return rng


def label(policy: object) -> str:
    """A short name for a policy in a table: that of its jitter, or of its class."""
    jitter = getattr(policy, "jitter", None)
    return str(getattr(jitter, "__name__", None) or type(policy).__name__.lower())
