"""Which schedules are the same but for the order of steps that cannot see each other.

Two steps conflict if one writes what the other reads or writes. Schedules that differ only in the
order of steps without a conflict lead to the same replies and the same state, so one of them is
enough. `Order` gives such schedules one number: it is the sum, over all steps, of a hash of the step
and of the hashes of the steps that it had to come after. It needs no look at the server, so nothing
that a server keeps hidden (a watched key, a stream's group) can be forgotten in it.

The idea: M. Musuvathi and S. Qadeer, "Partial-Order Reduction for Context-Bounded State
Exploration", Microsoft Research, 2007.
"""

from __future__ import annotations

from collections.abc import Hashable

from jobkit.explore.commands import Footprint

_MASK = (1 << 64) - 1


class Order:
    """The steps so far, up to the order of those without a conflict."""

    def __init__(self) -> None:
        self.number = 0
        self._all = 0
        """Hash of the last step that conflicted with everything, and of all before it."""
        self._written: dict[bytes, int] = {}
        self._read: dict[bytes, int] = {}
        """Key -> the last write, and the sum of the reads since."""
        self._last: dict[str, int] = {}

    def add(self, worker: str, label: Hashable, seen: Footprint, *, after: str = "") -> None:
        """Add a step of a worker; `after`: a worker whose last step it had to come after, too."""
        step = self._hash(worker, label, seen, after)
        if seen.everything:
            self._all = step
            self._written.clear()
            self._read.clear()
        for key in seen.writes:
            self._written[key] = step
            self._read.pop(key, None)
        for key in seen.reads - seen.writes:
            self._read[key] = self._read.get(key, 0) + step & _MASK
        self._last[worker] = step
        self.number = self.number + step & _MASK

    def ahead(self, worker: str, label: Hashable, seen: Footprint) -> int:
        """Return the number that there would be after such a step."""
        return self.number + self._hash(worker, label, seen, "") & _MASK

    def _hash(self, worker: str, label: Hashable, seen: Footprint, after: str) -> int:
        before = self._last.get(worker, 0), self._last.get(after, 0)
        if seen.everything:
            return hash((worker, label, before, self.number)) & _MASK
        written = sum([self._written.get(key, self._all) + self._read.get(key, 0) for key in seen.writes])
        read = sum([self._written.get(key, self._all) for key in seen.reads - seen.writes])
        return hash((worker, label, before, self._all, written & _MASK, read & _MASK)) & _MASK
