"""Whether the jobs of an entity ran one at a time, and in the order of their submission."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from jobkit.journal import Mark
from jobkit.keys import route


def overlaps(marks: Iterable[Mark], killed: Mapping[str, int], lease_ms: int) -> int:
    """Count the runs that began while another job of their entity was at work, by the journal.

    A run ends with its mark, with the kill of its worker, or when it has lasted a lease: a worker
    that was paused for so long has lost its claim, and the next one may begin.
    """
    open_runs: dict[str, dict[tuple[str, str], int]] = {}
    count = 0
    for mark in marks:
        runs, run = open_runs.setdefault(route(mark.id), {}), (mark.worker, mark.id)
        if mark.what == "end":
            runs.pop(run, None)
            continue
        at_work = [
            (worker, id)
            for (worker, id), since in runs.items()
            if id != mark.id and killed.get(worker, mark.at + 1) > mark.at and mark.at - since < lease_ms
        ]
        count += bool(at_work)
        runs[run] = mark.at
    return count


def overtaken(effects: Mapping[str, Sequence[str]], submitted: Sequence[str]) -> int:
    """Count the effects of each entity that came before those of a job that was submitted earlier."""
    rank = {id: n for n, id in enumerate(submitted)}
    return sum(rank[earlier] > rank[later] for ids in effects.values() for earlier, later in itertools.pairwise(ids))
