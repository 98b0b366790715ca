"""What a promise can look at, and what holds or breaks it.

A promise is a function of the `World`. It says what is broken: by an `assert`, by returning a
sentence, or False. None and True mean that it holds. (`never` is the other way round: it says what
must not be, by a sentence or True.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from jobkit.connect.client import Client
from jobkit.errors import ExploreError
from jobkit.explore.calls import Ended
from jobkit.explore.events import Event


class Done(NamedTuple):
    """An effect, and the worker that had it."""

    worker: str
    text: str


class World:
    """What there is at a moment of a schedule."""

    def __init__(self, redis: Client, given: object) -> None:
        self.redis = redis
        """A client whose commands are no steps: look at anything."""
        self.given = given
        """What `explore` got as `given`."""
        self.events: list[Event] = []
        """All steps so far: who, what was asked, and what the server answered, even if that was lost."""
        self.effects: list[Done] = []
        """All effects so far, in order."""
        self.answers: dict[str, Any] = {}
        """What each worker that ended has returned."""
        self.errors: dict[str, Ended] = {}
        """What each worker that failed has raised."""
        self.crashed: list[str] = []
        self.losses: list[str] = []
        """Who lost a reply."""
        self.waiting: list[str] = []
        """Who waits for ever, at the end."""


Promise = Callable[[World], object]


class Broken(NamedTuple):
    """A promise that did not hold, by its name, and how."""

    promise: str
    what: str


class Judge:
    """Holds promises against a world."""

    def __init__(
        self,
        *,
        finally_: Sequence[Promise] = (),
        always: Sequence[Promise] = (),
        never: Sequence[Promise] = (),
        may_raise: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._finally, self._always, self._never, self._may_raise = finally_, always, never, may_raise
        self.each_step = bool(always or never)
        """Whether it looks at every moment, and not only at the end."""

    def step(self, world: World) -> Broken | None:
        """Return what is broken at this moment."""
        for promise in self._always:
            broken = _asked(promise, world)
            if broken:
                return broken
        for promise in self._never:
            happened = _said(promise, world)
            if happened:
                return Broken(name_of(promise), happened if isinstance(happened, str) else "it happened")
        return None

    def end(self, world: World) -> Broken | None:
        """Return what is broken at the end of a schedule."""
        for name, ended in world.errors.items():
            after_loss = name in world.losses and isinstance(ended.error, (RedisConnectionError, RedisTimeoutError))
            if not after_loss and not isinstance(ended.error, self._may_raise):
                return Broken("no worker fails", f"{name} raised {ended.kind}: {ended.text}"[:200].rstrip(" .:"))
        if world.waiting and not world.crashed:
            return Broken("nobody waits for ever", f"{', '.join(world.waiting)} waits, and nobody is left to write")
        for promise in self._finally:
            broken = _asked(promise, world)
            if broken:
                return broken
        return None


def name_of(promise: Promise) -> str:
    """Return a promise's name as words: each_runs_once -> each runs once."""
    name = getattr(promise, "__name__", type(promise).__name__)
    return "the promise" if name == "<lambda>" else name.replace("_", " ").strip()


def _asked(promise: Promise, world: World) -> Broken | None:
    answer = _said(promise, world)
    if answer is None or answer is True:
        return None
    if answer is False:
        return Broken(name_of(promise), "it does not hold")
    odd = f"it returned {answer!r:.60}, where True and None mean that it holds"
    return Broken(name_of(promise), answer if isinstance(answer, str) else odd)


def _said(promise: Promise, world: World) -> object:
    try:
        return promise(world)
    except AssertionError as error:
        return str(error).strip().split("\n")[0] or "its assertion failed"
    except ExploreError:
        raise
    except Exception as error:  # noqa: BLE001 - a slip in a promise is shown with the moment at which it came out
        return f"the promise itself raised {type(error).__name__}: {error}"[:200]
