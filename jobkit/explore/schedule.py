"""What can happen next, and how a schedule is written down: `ABB?A!+`.

A    the next step of worker A
A?   the same, and its reply is lost
A!   A dies before its next step
+    time jumps
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from jobkit.errors import ExploreError

_CHOICE = re.compile(r"\s*(?:([A-Z])([?!])?|(\+))")


class Choice(NamedTuple):
    """One choice of the scheduler: what happens to whom."""

    worker: str
    """Its letter; "" where time jumps."""
    what: str = ""
    """"" a step, "?" a step whose reply is lost, "!" a crash, "+" a jump of the clock."""

    def __str__(self) -> str:
        return self.worker + self.what


JUMP = Choice("", "+")


def written(choices: Sequence[Choice]) -> str:
    """Write a schedule down."""
    return "".join(map(str, choices))


def read(schedule: str) -> list[Choice]:
    """Read a schedule. Raises ExploreError, with the place, where it is none."""
    choices, at = [], 0
    while at < len(schedule.rstrip()):
        found = _CHOICE.match(schedule, at)
        if found is None:
            raise ExploreError(
                f"a schedule is made of A, A?, A! and +; this one goes on with {schedule[at : at + 9]!r}"
            )
        worker, what, jump = found.groups()
        choices.append(JUMP if jump else Choice(worker, what or ""))
        at = found.end()
    return choices
