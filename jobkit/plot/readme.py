"""The picture of the README, drawn from a recorded night: `python -m jobkit.plot.readme FILE.png`.

Real processes never do the same twice, so the picture is of one run of notebook 05, whose journal lies
in docs/pictures. Equal bytes each time, with one version of matplotlib; the picture in words goes to
stdout. `--record` runs the notebook's cells again, up to the one that kills a porter, and keeps that night.
"""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from jobkit import plot
from jobkit.plot.shift import Shift

KIT = Path(__file__).resolve().parents[2]
NIGHT = KIT / "docs" / "pictures" / "worker_dies.json"
NOTEBOOK = KIT / "notebooks" / "05_worker_dies.py"


def draw() -> plot.Picture:
    """Draw the night that was recorded."""
    return plot.crew(Shift.load(NIGHT))


def record() -> Shift:
    """Run notebook 05 until its crew is done, as a program; takes some ten seconds, and starts real processes."""
    names: dict[str, Any] = {}
    with contextlib.chdir(NOTEBOOK.parent):  # its handlers lie beside it
        for cell in code_cells(NOTEBOOK.read_text("utf-8")):
            exec(compile(cell, NOTEBOOK.name, "exec"), names)  # noqa: S102 - the kit's own notebook
            if "plot.watch(" in cell:
                break
    with names["crew"] as crew:
        return Shift.of(crew, names["desk"])


def code_cells(source: str) -> list[str]:
    """Return the code cells of a py:percent source."""
    cells = re.split(r"^# %%(.*)\n", source, flags=re.MULTILINE)[1:]
    return [text for head, text in zip(cells[::2], cells[1::2], strict=True) if "[markdown]" not in head]


def main() -> None:
    """Draw it into the file that the command line names; or record a new night."""
    if sys.argv[1:] == ["--record"]:
        record().save(NIGHT)
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        drawn = draw()
        drawn.save(sys.argv[1])
        sys.stdout.write(f"{drawn}\n")
    else:
        sys.exit("usage: python -m jobkit.plot.readme FILE.png, or --record")


if __name__ == "__main__":
    main()
