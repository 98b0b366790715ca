"""What worker processes did, in a file that survives them: a line per start and end of a handler.

One short write to a file opened for appending: lines of several processes do not mix, and what
was written stays, whatever kills the writer the moment after.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from jobkit.clock import Clock
from jobkit.job import Claim


class Mark(NamedTuple):
    """A handler of `worker` began or ended (`what`: start, end) with a job, at `at` ms since the epoch."""

    at: int
    what: str
    worker: str
    pid: int
    id: str
    attempt: int


class Journal:
    """Appends marks to a file; give it to a worker's runner as its `journal`."""

    def __init__(self, path: str | Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._clock = Clock()

    def __call__(self, what: str, claim: Claim) -> None:
        """Write one mark."""
        mark = Mark(self._clock.now(), what, claim.worker, os.getpid(), claim.id, claim.attempt)
        os.write(self._file, json.dumps(mark).encode() + b"\n")


def read(path: str | Path) -> list[Mark]:
    """Return the marks of a file so far, in the order of writing; a line cut by a full disk is left out."""
    marks = []
    for line in Path(path).read_bytes().splitlines():
        try:
            marks.append(Mark(*json.loads(line)))
        except (ValueError, TypeError):
            continue
    return marks
