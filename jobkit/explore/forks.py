"""Where a schedule can go on in more than one way, and whether it is the same each time that it comes by."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from jobkit.errors import ExploreError
from jobkit.explore.events import spelled
from jobkit.explore.run import Run
from jobkit.explore.schedule import Choice
from jobkit.explore.seen import Moment, Seen


class Option(NamedTuple):
    """What can be chosen at a fork."""

    choice: Choice
    cost: int
    """How much it forces."""
    forced: int
    """The same, with all before it."""
    asked: Hashable
    """What is asked for: it must be the same each time."""
    ahead: Moment | None
    """Where it leads, as far as that can be told without taking it."""


@dataclass(slots=True)
class Fork:
    """A moment of the schedule that is being run, and which of its options have been tried."""

    options: list[Option]
    before: tuple[Fork, int] | None
    """The fork before it, and which of its options was taken."""
    ready: frozenset[str]
    """Who could go on: it must be the same each time."""
    at: int = 0

    def skip(self, seen: Seen) -> bool:
        """Pass over options that lead where the search has been; return whether one is left."""
        while self.at < len(self.options):
            moment = self.options[self.at].ahead
            if moment is None or not seen.knows(moment):
                return True
            self.at += 1
        return False


Branch: TypeAlias = "tuple[Fork, int] | None"
"""A fork and one of its options; None: the start."""


def way_to(branch: Branch) -> list[Fork]:
    """Return the forks on the way to a branch, and its own; each has one option."""
    way = []
    while branch is not None:
        fork, at = branch
        way.append(Fork([fork.options[at]], fork.before, fork.ready))
        branch = fork.before
    return way[::-1]


def same(run: Run, fork: Fork) -> None:
    """Hold what is asked for now against what was asked for here before."""
    option, now = fork.options[fork.at], run.asked(fork.options[fork.at].choice)
    if now != option.asked:
        raise diverged(run.taken + 1, f"`{option.choice}: {_pending(option.asked)}`", f"`{_pending(now)}`")
    if run.ready != fork.ready:
        raise diverged(run.taken + 1, _who(fork.ready), _who(run.ready))


def _who(ready: frozenset[str]) -> str:
    return f"one of {', '.join(sorted(ready))}"


def _pending(asked: Hashable) -> str:
    return spelled(asked[1]) if isinstance(asked, tuple) and asked[0] else "nothing"


def diverged(step: int, before: str, now: str) -> ExploreError:
    """Return the error for a worker that does not do the same each time."""
    return ExploreError(
        f"the same schedule did not do the same twice: step {step} was {before}, then {now}. "
        "Does a worker keep something in a global, or use datetime.now()?"
    )
