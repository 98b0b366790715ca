"""What `explore` can be asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from jobkit.clock import Seconds, to_ms
from jobkit.errors import ConfigError, ExploreError
from jobkit.explore.actor import WorkerFunction, arity, current
from jobkit.explore.calls import Elsewhere

NAMES = "ABCDEFGH"
_COUNTS = (("crashes", 0, 9), ("lost_replies", 0, 1000), ("schedules", 1, 10**9), ("bound", 0, 1000))


def check(workers: Sequence[WorkerFunction | Elsewhere], asked: dict[str, Any]) -> None:
    """Raise ConfigError for settings that make no sense, ExploreError inside a worker."""
    if current() is not None:
        raise ExploreError("explore was called inside a worker of another exploration")
    if not 1 <= len(workers) <= len(NAMES) or not all(map(_works, workers)):
        raise ConfigError(f"explore takes 1 to {len(NAMES)} functions, got {workers!r:.100}")
    for name, wanted in _wrong(asked):
        raise ConfigError(f"{name} is {wanted}, got {asked[name]!r:.100}")
    if len(asked["offsets"]) > len(workers):
        raise ConfigError(f"offsets has {len(asked['offsets'])} entries for {len(workers)} workers")
    if asked["seed"] is not None and asked["schedule"] is not None:
        raise ConfigError("either one schedule is run, or some are drawn with a seed")
    for work in [*workers, *filter(None, [asked["after_crash"]])]:
        if not isinstance(work, Elsewhere):
            arity(work)


def _wrong(asked: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Name each setting that makes no sense, and say what it should be."""
    for name, least, most in _COUNTS:
        value = asked[name]
        whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        if not whole and not (name == "bound" and value is None):
            yield name, f"a whole number from {least} to {most}"
    for name in ("given", "after_crash"):
        if not (asked[name] is None or _works(asked[name])):
            yield name, "a function"
    for name in ("finally_", "always", "never"):
        if not all(map(callable, asked[name])):
            yield name, "a function of the world, or several of them"
    if not isinstance(asked["seed"], int | None):
        yield "seed", "a whole number"
    if not isinstance(asked["schedule"], str | None):
        yield "schedule", "text, such as ABBA!"
    if not isinstance(asked["offsets"], Sequence):
        yield "offsets", "a list of seconds, one per worker"
    if signed_ms(asked["clock_jump"], "clock_jump") < 0:
        yield "clock_jump", "a number of seconds from 0"


def _works(worker: object) -> bool:
    return callable(worker) or isinstance(worker, Elsewhere)


def signed_ms(duration: Seconds, what: str) -> int:
    """Turn seconds into ms; less than 0 stays less than 0: a clock may be behind."""
    return to_ms(duration, what) - to_ms(-duration, what)
