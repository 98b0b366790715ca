"""What happened in a step, as the scheduler notes it; `telling` puts it into words."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from jobkit.explore.calls import Args, Call, Effect, Request, Sleep
from jobkit.explore.schedule import Choice
from jobkit.explore.spelling import words


@dataclass(frozen=True, slots=True)
class Event:
    """What happened in a step, as it was."""

    choice: Choice
    request: Request | None
    replies: tuple[Any, ...] = ()
    waits: bool = False
    ms: int = 0
    at: int = 0

    @property
    def worker(self) -> str:
        """Whose step it was; "" where time went forward."""
        return self.choice.worker


def asked(request: Request, *, timeless: bool) -> Hashable:
    """What a step asks for, in a form that is the same each time: a script is its sha1.

    With `timeless` a command is its name alone: on a real server time goes on, and so its words may
    differ.
    """
    if isinstance(request, Call):
        return tuple([args[:1] if timeless else _by_sha(args) for args in request.commands])
    return request.text if isinstance(request, Effect) else request.ms if isinstance(request, Sleep) else ""


def scripts(call: Call) -> frozenset[bytes]:
    """Return the sha1 of each script that a call asks the server for: whether it knows it, or to run it."""
    found: set[bytes] = set()
    for args in call.commands:
        if args[0].upper() == b"EVALSHA":
            found.update(args[1:2])
        elif b" ".join(args[:2]).upper() == b"SCRIPT EXISTS":
            found.update(args[2:])
    return frozenset(found)


def spelled(asked: Hashable) -> str:
    """Say what was asked for."""
    return "; ".join(map(words, asked)) if isinstance(asked, tuple) else str(asked)


def _by_sha(args: Args) -> Args:
    if args[0].upper() != b"EVAL" or len(args) == 1:
        return args
    return (b"EVALSHA", hashlib.sha1(args[1], usedforsecurity=False).hexdigest().encode(), *args[2:])
