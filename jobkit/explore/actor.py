"""A worker in this process: a greenlet that stands still at each request.

A greenlet, and not a thread, since a switch costs half a microsecond and nothing runs meanwhile: the
code of a worker is in one place at a time, and the order of steps is the scheduler's alone.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from random import Random
from typing import Any, cast

import greenlet
from redis.exceptions import ConnectionError as RedisConnectionError

from jobkit.clock import Seconds, Timer, VirtualClock, new_rng, to_ms
from jobkit.connect.safety import ServerInfo
from jobkit.errors import ConfigError, ExploreError
from jobkit.explore.calls import Answer, Call, Effect, Ended, Request, Sleep
from jobkit.explore.wire import worker_client

WorkerFunction = Callable[..., Any]
"""`f(r)` or `f(r, w)`: r is a redis-py client, w the worker's own `Self`."""

_SERVER = ServerInfo("fake", "explored", "fakeredis", ours=True)
_REFUSALS = 100
"""How often a dead worker is told so, before it is left where it is."""


class Gone(BaseException):
    """Raised in a worker that has crashed: `except Exception` does not catch it, and nothing it sends arrives."""


class WorkerClock(VirtualClock):
    """The clock of a worker's client: the scheduler's time, and `sleep` is a request."""

    def __init__(self, line: Line) -> None:
        super().__init__()
        self._line = line

    def now(self) -> int:
        """Return the time as this worker's machine has it, in ms."""
        return self._line.actor.now

    def monotonic(self) -> float:
        """Return the same moment in seconds."""
        return self._line.actor.now / 1000

    def advance(self, seconds: Seconds) -> None:
        """Sleep: while other workers run, time can't simply be moved."""
        self._line.actor.ask(Sleep(to_ms(seconds, "sleep")))

    def every(self, period_ms: int, call: Callable[[], object]) -> Timer:
        """Return a timer that never rings: a worker that sleeps here sends no heartbeats."""
        return Timer(period_ms, call)


class Self:
    """What a worker is told of itself: its name, and how to say what it does outside of Redis."""

    def __init__(self, actor: LocalActor) -> None:
        self.name = actor.name
        self._actor = actor

    def effect(self, text: str) -> None:
        """Do something outside of Redis: run a job, charge a card. A promise can look at it."""
        self._actor.ask(Effect(str(text)))

    def __repr__(self) -> str:
        return f"<worker {self.name}>"


class Line:
    """A worker's client. It is made once for all schedules, and asks whoever is that worker now."""

    actor: LocalActor

    def __init__(self, *, whole: bool = False) -> None:
        self.client = worker_client(lambda: self.actor.ask, _SERVER, clock=WorkerClock(self), whole=whole)


class LocalActor(greenlet.greenlet):
    """One worker of one schedule."""

    def __init__(self, name: str, function: WorkerFunction, line: Line, offset: int = 0) -> None:
        super().__init__(self._live)
        self.name, self._function, self._line, self._offset = name, function, line, offset
        self.now = 0
        self._dead, self._refusals = False, 0
        line.actor = self

    @functools.cached_property
    def rng(self) -> Random:
        """Its chance: the same in each schedule."""
        return new_rng(sum(map(ord, self.name)))

    def go(self, answer: Answer, now: int) -> Request:
        """Run it until its next request."""
        self.now = now + self._offset
        return cast("Request", self.switch(answer))

    def kill(self) -> None:
        """Unwind it, so that its `finally` blocks run, in vain."""
        self._dead = True
        if bool(self) and not self.dead:
            self.throw(Gone())

    def ask(self, request: Request) -> Answer:
        """Stand still until the scheduler has an answer. Called by the worker's own code alone."""
        if greenlet.getcurrent() is not self:
            raise ExploreError(
                f"a thread that worker {self.name} started, or another worker, uses its client: only the "
                "worker itself can, since nobody could order the steps of a thread"
            )
        try:
            return self._answered(request)
        except Gone:
            if isinstance(request, Call) and request.commands[0] == (b"UNWATCH",):
                raise RedisConnectionError("it is dead") from None  # all that redis-py minds in __del__
            raise

    def _answered(self, request: Request) -> Answer:
        parent = cast("greenlet.greenlet", self.parent)
        if not self._dead:
            return cast("Answer", parent.switch(request))
        self._refusals += 1
        if self._refusals > _REFUSALS:  # it catches everything and goes on: leave it there, for good
            parent.switch(None)
        raise Gone

    def _live(self, _answer: Answer) -> Ended:
        try:
            answer = self._function(*(self._line.client, Self(self))[: arity(self._function)])
            self._refuse_async(answer)
        except Gone:
            return Ended()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends this worker, not the search
            return Ended(error=error, kind=type(error).__name__, text=str(error))
        return Ended(answer)

    def _refuse_async(self, answer: object) -> None:
        if inspect.iscoroutine(answer):
            answer.close()
        if inspect.isawaitable(answer) or inspect.isgenerator(answer) or inspect.isasyncgen(answer):
            raise ExploreError(f"worker {self.name} is a coroutine or a generator: give plain functions, no asyncio")


@functools.lru_cache(maxsize=64)
def arity(function: WorkerFunction) -> int:
    """How many of (r, w) a worker's function takes. Raises ConfigError if it takes neither, or needs more."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    places = [p for p in parameters if p.kind in {p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD}]
    more = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    needed = [p for p in parameters if p.default is p.empty and p.kind not in {p.VAR_POSITIONAL, p.VAR_KEYWORD}]
    if not (places or more) or any(p.kind is p.KEYWORD_ONLY or p in places[2:] for p in needed):
        raise ConfigError(f"a worker is a function f(r) or f(r, w), and {_named(function)} is none")
    if len(places) > 1:
        return 2 if places[1] in needed or places[1].name == "w" else 1  # lambda r, job=job: ...
    return 2 if more else 1


def _named(function: WorkerFunction) -> str:
    return getattr(function, "__name__", None) or repr(function)[:100]


def current() -> LocalActor | None:
    """Return the worker whose code is running in this thread, if it is a worker's."""
    here = greenlet.getcurrent()
    return here if isinstance(here, LocalActor) else None
