"""What a worker asks of whoever runs it: the only words that pass between the two.

A worker runs until it wants something of the world: a command sent, an effect noted, time to pass.
Then it stands still, and the scheduler decides when it is its turn. So nothing happens between two
steps that another worker could see. In the same process the two pass objects; with a child process
the same words go through a socket pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jobkit.explore.watchdog import Watchdog

Args = tuple[bytes, ...]
"""A command as it goes to the server."""


@dataclass(frozen=True, slots=True)
class Call:
    """Commands for the server on connection number `connection`, with nobody's between them.

    One command; or a MULTI ... EXEC block; or a pipeline, where it is explored in one piece.
    """

    connection: int
    commands: tuple[Args, ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something done outside of Redis."""

    text: str


@dataclass(frozen=True, slots=True)
class Sleep:
    """Time to pass, in ms."""

    ms: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The worker has returned, or raised `error`; `kind` and `text` say in words what was raised."""

    answer: Any = None
    error: BaseException | None = None
    kind: str = ""
    text: str = ""


Request = Call | Effect | Sleep | Ended


@dataclass(frozen=True, slots=True)
class Replies:
    """What the server answered to each command of a call, errors included."""

    values: tuple[Any, ...]


class Lost:
    """The server ran the call; its reply was lost with the connection."""


LOST = Lost()

Answer = Replies | Lost | None


class Actor(Protocol):
    """A worker that can be run from one request to the next, wherever it lives."""

    name: str

    def go(self, answer: Answer, now: int) -> Request:
        """Give the answer to its last request (None at the start) and the time (ms); return its next request."""

    def kill(self) -> None:
        """Let it die where it stands; whatever it still tries to send is refused."""


@runtime_checkable
class Elsewhere(Protocol):
    """A worker whose code is somewhere else: `explore` takes it beside plain functions."""

    def actor(self, name: str, offset: int, whole: bool, watchdog: Watchdog) -> Actor:  # noqa: FBT001 - explore's call alone
        """Return the worker of one schedule: its name, how far its clock is ahead, pipelines in one piece or not."""
