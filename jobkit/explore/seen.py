"""Which moments of a program were reached, so that none is looked into twice."""

from __future__ import annotations

from typing import NamedTuple

from jobkit.explore.order import Past


class Moment(NamedTuple):
    """What tells a moment from others, as far as what can follow goes."""

    past: Past
    last: str
    """Who ran last: if he can go on, it is forced to go on with somebody else."""


class Seen:
    """The moments that a search has reached, and how much had been forced by then.

    A moment that is reached again with less forced is looked into again: more can follow under the
    same bound. Without a bound neither that nor who ran last makes a difference.
    """

    def __init__(self, *, bounded: bool) -> None:
        self._bounded = bounded
        self._forced: dict[Moment, int] = {}
        self._ready: dict[Past, frozenset[str]] = {}

    def reach(self, moment: Moment, ready: frozenset[str], forced: int) -> bool:
        """Note a moment and who can go on there; return whether there is anything new in it."""
        self._ready[moment.past] = ready
        if self.knows(moment, forced):
            return False
        self._forced[self._reduced(moment)] = forced
        return True

    def knows(self, moment: Moment, forced: int) -> bool:
        """Whether a moment was reached with no more forced."""
        before = self._forced.get(self._reduced(moment))
        return before is not None and (before <= forced or not self._bounded)

    def _reduced(self, moment: Moment) -> Moment:
        goes_on = self._bounded and moment.last in self._ready.get(moment.past, ())
        return moment if goes_on else Moment(moment.past, "")
