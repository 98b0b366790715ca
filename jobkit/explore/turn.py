"""What is explored, and where each of its workers stands."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from jobkit.connect.client import Client
from jobkit.explore.blocking import Unblocked
from jobkit.explore.calls import Actor, Ended, Request


@dataclass(frozen=True)
class Program:
    """What is explored: who runs, on what, and what may go wrong."""

    workers: Sequence[tuple[str, Callable[[str], Actor]]]
    given: Callable[[Client], object] | None = None
    recovery: Callable[[str], Actor] | None = None
    crashes: int = 0
    lost_replies: int = 0
    jumps: int = 0
    jump_ms: int = 0
    longest: int = 1000
    """Steps after which a schedule is taken for endless."""


@dataclass
class Turn:
    """Where a worker stands."""

    actor: Actor
    request: Request = field(default_factory=Ended)
    asked: Hashable = None
    """What it asks for, in a form that is the same each time."""
    scripts: frozenset[bytes] = frozenset()
    """Scripts that it has asked for meanwhile, without a step: they tell it what others have loaded."""
    ready: bool = True
    until: int | None = None
    """When it gets ready by itself, in ms since the start; None: never."""
    wait: Unblocked | None = None
    """What it waits for, in a blocking command."""
    over: bool = False
