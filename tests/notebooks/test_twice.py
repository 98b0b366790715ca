"""Run All, pressed twice in one kernel, says the second time what it said the first: a page clears its keys itself."""

import copy
import os

import pytest

from jobkit.cli import notebooks
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
