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
    """The moments that a search has reached. It reaches each with the least forced first: later ones are in vain."""

    def __init__(self) -> None:
        self._moments: set[Moment] = set()
        self._ready: dict[Past, frozenset[str]] = {}

    def reach(self, moment: Moment, ready: frozenset[str]) -> bool:
        """Note a moment and who can go on there; return whether it is new."""
        known = self.knows(moment)
        self._ready[moment.past] = ready
        self._moments.add(self._reduced(moment))
        return not known

    def knows(self, moment: Moment) -> bool:
        """Whether a moment was reached."""
        return self._reduced(moment) in self._moments

    def _reduced(self, moment: Moment) -> Moment:
        return moment if moment.last in self._ready.get(moment.past, ()) else Moment(moment.past, "")
