"""Run All, pressed twice in one kernel, says the second time what it said the first: a page clears its keys itself.

On some pages every single cell can be run twice in a row, too: a reader's fingers are quicker than a thought.
"""

import copy
import os

import pytest

from jobkit.cli import notebooks, store
from jobkit.cli.store import WIDGET, tidy


def said(cell):
    outputs = [tidy(output) for output in cell.outputs if WIDGET not in output.get("data", {})]
    return [output.get("text") or output.get("data", {}).get("text/plain") for output in outputs]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_run_all_twice(source, monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, "JOBKIT_REDIS": "fake"})
    notebooks.settle()
    again = copy.deepcopy(source.cells)
    for cell in again:
        cell.id += "-again"
    source.cells += again
    outcome = notebooks.execute(source)
    assert outcome.failure is None
    for first, second in zip(source.cells, again, strict=False):
        if first.cell_type == "code" and "varies" not in first.metadata.get("tags", []):
            assert said(first) == said(second), first.source


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "page", ["00_start", "01_sorted_set", "03_whose_clock", "10_poison_and_dead_letters", "11_cancel", "12_hot_bucket"]
)
def test_each_cell_twice(page, monkeypatch):
    monkeypatch.setattr(os, "environ", {**os.environ, "JOBKIT_REDIS": "fake"})
    notebooks.settle()
    twice = store.load(notebooks.FOLDER / f"{page}.py")
    cells, twice.cells = twice.cells, []
    for cell in cells:
        again = copy.deepcopy(cell)
        again.id += "-again"
        twice.cells += [cell, again] if cell.cell_type == "code" else [cell]
    outcome = notebooks.execute(twice)
    assert outcome.failure is None
