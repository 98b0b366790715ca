"""What happened in a step, as the scheduler notes it; `telling` puts it into words."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

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


class Did(NamedTuple):
    """A choice, and what was asked for there."""

    choice: Choice
    asked: Hashable

    def __str__(self) -> str:
        commands = self.asked if isinstance(self.asked, tuple) else ()
        return f"{self.choice}: {'; '.join(map(words, commands)) or self.asked}"


def asked(request: Request | None) -> Hashable:
    """What a step asks for, in a form that is the same each time: a script is its sha1."""
    if isinstance(request, Call):
        return tuple([_by_sha(args) for args in request.commands])
    return request.text if isinstance(request, Effect) else request.ms if isinstance(request, Sleep) else ""


def _by_sha(args: Args) -> Args:
    if args[0].upper() != b"EVAL":
        return args
    return (b"EVALSHA", hashlib.sha1(args[1], usedforsecurity=False).hexdigest().encode(), *args[2:])
