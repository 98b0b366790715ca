"""Time and chance as a worker under exploration sees them.

While a search runs, `time.time()`, `time.sleep()` and their kin, the functions of `random`,
`os.urandom` (so `uuid` and `secrets`, too) answer by the worker whose code is running: its
clock, and chance from a seed of its own, so that a schedule can be repeated. Everybody else, other
threads included, gets Python's own. `datetime.now()` is compiled code, and is not reached.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import redis

from jobkit.clock import Seconds, to_ms
from jobkit.errors import ExploreError
from jobkit.explore.actor import LocalActor, current
from jobkit.explore.calls import Sleep

_CHANCE: Any = random._inst  # noqa: SLF001 - the generator behind random.choice and all its kin

_SEED = random.Random.seed


def _instead(real: Callable[..., Any], act: Callable[..., Any]) -> Callable[..., Any]:
    """Call `act(worker, ...)` in a worker's code, and the real function everywhere else."""

    def disguised(*args: Any, **kwargs: Any) -> Any:
        worker = current()
        return real(*args, **kwargs) if worker is None else act(worker, *args, **kwargs)

    return disguised


def _sleep(worker: LocalActor, seconds: Seconds) -> None:
    worker.ask(Sleep(to_ms(seconds, "sleep")))


def _seed(worker: LocalActor, rng: random.Random, a: Any = None, version: int = 2) -> None:
    """Seed a generator of the worker's own; without a seed it would be the system's chance."""
    _SEED(rng, worker.rng.getrandbits(64) if a is None else a, version)


def _no_stranger(worker: LocalActor, *_args: Any, **_options: Any) -> None:
    raise ExploreError(
        f"worker {worker.name} asks Redis through a client of its own: nobody could order its steps. "
        "Let it use the client that it is given"
    )


_drawing: list[Callable[[], random.Random]] = []
"""Whose chance the fake draws by, while it runs a command of a worker."""


@contextlib.contextmanager
def drawing_by(rng: Callable[[], random.Random]) -> Iterator[None]:
    """Let the fake draw by `rng()`: what SPOP takes is the same each time, then."""
    _drawing.append(rng)
    try:
        yield
    finally:
        _drawing.pop()


def _draw(name: str) -> Callable[..., Any]:
    real = getattr(random, name)

    def draw(*args: Any) -> Any:
        worker = current()
        rng = worker.rng if worker else _drawing[-1]() if _drawing else None
        return real(*args) if rng is None else getattr(rng, name)(*args)

    return draw


_PLACES: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (time, "time", lambda worker: worker.now / 1000),
    (time, "time_ns", lambda worker: worker.now * 1_000_000),
    (time, "monotonic", lambda worker: worker.now / 1000),
    (time, "monotonic_ns", lambda worker: worker.now * 1_000_000),
    (time, "perf_counter", lambda worker: worker.now / 1000),
    (time, "perf_counter_ns", lambda worker: worker.now * 1_000_000),
    (time, "sleep", _sleep),
    (uuid, "uuid1", lambda worker, *_: uuid.UUID(int=worker.rng.getrandbits(128), version=1)),
    (os, "urandom", lambda worker, n: worker.rng.randbytes(n)),
    (random, "_urandom", lambda worker, n: worker.rng.randbytes(n)),
    (random.Random, "seed", _seed),
    (redis.ConnectionPool, "get_connection", _no_stranger),
    (redis.BlockingConnectionPool, "get_connection", _no_stranger),
)
_DRAWS = [(place, name, _draw(name)) for place in (random, _CHANCE) for name in ("random", "getrandbits")]


@contextlib.contextmanager
def disguise() -> Iterator[None]:
    """Put the disguise on, and take it off again. One search at a time wears it."""

    def no_thread(thread: threading.Thread) -> None:
        worker = current()
        if worker is not None:
            raise ExploreError(f"worker {worker.name} starts a thread: nobody could order its steps")
        start(thread)

    with _worn:
        start = threading.Thread.start
        kept = [(place, name, vars(place).get(name)) for place, name, _ in [*_PLACES, *_DRAWS]]
        try:
            threading.Thread.start = no_thread  # type: ignore[method-assign, assignment]
            for place, name, act in _PLACES:
                setattr(place, name, _instead(getattr(place, name), act))
            for place, name, draw in _DRAWS:
                setattr(place, name, draw)
            yield
        finally:
            threading.Thread.start = start  # type: ignore[method-assign]
            for place, name, real in kept:
                if real is None:
                    delattr(place, name)
                else:
                    setattr(place, name, real)


_worn = threading.RLock()
