"""Which schedules are the same but for the order of steps that cannot see each other.

Two steps conflict if one writes what the other reads or writes. Schedules that differ only in the
order of steps without a conflict lead to the same replies and the same state, so one of them is
enough. A step is known by its worker, what it asks for, and the steps that it had to come after; each
one that is told from the others by that has a number. The numbers of every worker's last step tell
all that has happened. It needs no look at the server, so nothing that a server keeps hidden (a
watched key, a stream's group) can be forgotten in it; and nothing is summed up or cut short, so no
two are taken for the same by chance.

The idea: M. Musuvathi and S. Qadeer, "Partial-Order Reduction for Context-Bounded State
Exploration", Microsoft Research, 2007.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeAlias

from jobkit.explore.commands import Footprint

Past: TypeAlias = frozenset[int]
"""All steps so far, up to the order of those without a conflict."""
Numbers: TypeAlias = dict[Hashable, int]
"""The steps of all schedules of a search, and their numbers."""


class Order:
    """The steps of one schedule so far."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._numbers = {} if numbers is None else numbers
        self._all = 0
        """The last step that conflicted with everything."""
        self._written: dict[bytes, int] = {}
        """Key -> the last step that wrote it. A step that reads it tells by that alone between which writes it came."""
        self._last: dict[str, int] = {}

    @property
    def past(self) -> Past:
        """All steps so far."""
        return frozenset(self._last.values())

    def last(self, worker: str) -> int:
        """Return the number of a worker's last step, which tells all that it can know; 0: it has taken none."""
        return self._last.get(worker, 0)

    def add(self, worker: str, label: Hashable, seen: Footprint, *, after: str = "") -> None:
        """Add a step of a worker; `after`: a worker whose last step it had to come after, too."""
        step = self._number(worker, label, seen, after)
        if seen.everything:
            self._all = step
            self._written.clear()
        for key in seen.writes:
            self._written[key] = step
        self._last[worker] = step

    def ahead(self, worker: str, label: Hashable, seen: Footprint) -> Past:
        """Return what `past` would be after such a step."""
        return frozenset((self._last | {worker: self._number(worker, label, seen, "")}).values())

    def _number(self, worker: str, label: Hashable, seen: Footprint, after: str) -> int:
        if seen.everything:
            before = set(self._last.values())
        else:
            before = {self._all, *[self._written.get(key, 0) for key in seen.reads]}
        step = worker, label, self._last.get(worker, 0), self._last.get(after, 0), frozenset(before)
        return self._numbers.setdefault(step, len(self._numbers) + 1)
