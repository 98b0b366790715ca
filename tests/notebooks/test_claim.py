"""The check of notebook 02: a wrong answer fails with the promise that it breaks, different right ones pass."""

import gc
import os
import re
import runpy
import sys

import pytest

from jobkit.cli import notebooks, store
from jobkit.plot import Table

KIT = notebooks.FOLDER.parent
HERE = KIT / "solutions/02_atomic_claim"
CELLS = store.load(notebooks.FOLDER / "02_atomic_claim.py").cells
WRONG = sorted((HERE / "wrong").glob("*.py"))
RIGHT = [HERE / "claim.py", *sorted((HERE / "right").glob("*.py"))]

sys.path.insert(0, os.fspath(KIT / "tools"))
import exercises  # noqa: E402, a script beside the package


@pytest.fixture
def check(redis):
    """The check as the notebook's cells define it, on this server."""
    names = {"redis": redis, "clock": redis.clock}
    exec("import jobkit as jk\nfrom jobkit import plot\nfrom threading import Thread", names)
    for key in ("delayed", "ready"):
        names[key.upper()] = redis.prefix + "{desk}:" + key
    for cell in CELLS:
        if "check" in cell.metadata.get("tags", []) or "def orders(" in cell.source:
            exec(cell.source, names)

    def verdict(path):
        said = names["check"](runpy.run_path(os.fspath(path))["claim_due"])
        return said.caption if isinstance(said, Table) else said

    yield verdict
    names.clear()
    gc.collect()  # the pipelines of dead clerks: once the client is closed, their end would connect anew


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_answers_break_a_promise(check, path, redis):
    promised = re.search(r"^# the check says: (.*)$", path.read_text("utf-8"), re.MULTILINE)[1]
    said = check(path)
    assert said.startswith("Not yet")
    assert promised in said


@pytest.mark.parametrize("path", RIGHT, ids=lambda path: path.stem)
def test_right_answers_pass(check, path):
    assert check(path).startswith("Passed")


def test_the_stub_does_not_pass(check, tmp_path):
    stub = tmp_path / "claim.py"
    stub.write_text(exercises.stub((HERE / "claim.py").read_text("utf-8")), "utf-8")
    assert "NotImplementedError" in check(stub)


@pytest.mark.parametrize("body", ["return None", "return 0", "raise KeyError('x')", "redis.get('no')", "return limit"])
def test_nor_does_what_is_hardly_more_than_the_stub(check, tmp_path, body):
    path = tmp_path / "claim.py"
    path.write_text(f"def claim_due(redis, delayed, ready, limit):\n    {body}\n", "utf-8")
    assert "Not yet. 3 due" in check(path)


def test_hints_of_the_folder_are_those_of_the_page():
    hints = re.findall(r"^## \d\. .*\n\n(.*)$", (HERE / "hints.md").read_text("utf-8"), re.MULTILINE)
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    assert len(hints) == 3
    assert all(hint in prose for hint in hints)


def test_the_page_counts_its_wrong_answers():
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    assert len(WRONG) == 12
    assert "[twelve wrong ones](../solutions/02_atomic_claim/wrong)" in prose
