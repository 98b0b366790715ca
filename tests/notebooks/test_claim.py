"""The check of notebook 02: a wrong answer fails with the promise that it breaks, different right ones pass."""

import os
import re
import runpy
import sys

import pytest

from jobkit.cli import notebooks, store
from jobkit.explore import Report, explore

KIT = notebooks.FOLDER.parent
HERE = KIT / "solutions/02_atomic_claim"
CELLS = store.load(notebooks.FOLDER / "02_atomic_claim.py").cells
WRONG = sorted((HERE / "wrong").glob("*.py"))
RIGHT = [HERE / "claim.py", *sorted((HERE / "right").glob("*.py"))]

sys.path.insert(0, os.fspath(KIT / "tools"))
import exercises  # noqa: E402, a script beside the package


@pytest.fixture
def names(redis):
    """What the notebook's cells define for the check, where this server is the notebook's."""
    found = {"redis": redis, "explore": explore}
    for cell in CELLS:
        if "check" in cell.metadata.get("tags", []):
            exec(cell.source, found)
    return found


@pytest.fixture
def check(names):
    def verdict(path):
        said = names["check"](runpy.run_path(os.fspath(path))["claim_due"])
        return f"Not yet. {said.failure.promise}: {said.failure.what}" if isinstance(said, Report) else said

    return verdict


@pytest.mark.parametrize("path", WRONG, ids=lambda path: path.stem)
def test_wrong_answers_break_a_promise(check, path):
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
    assert check(stub) == "Not yet: claim.py is still to be written."


HARDLY_MORE = {
    "return None": "3 due, limit 2",
    "return 0": "3 due, limit 2",
    "return limit": "3 due, limit 2",
    "redis.get('no')": "3 due, limit 2",
    "redis.delete(delayed)": "by the clock of the server",
    "raise KeyError('x')": "A raised KeyError: 'x'",
    "return redis.rpush(ready, 'room 1')": "ready is no stream",
    "redis.xadd(ready, {'job': 'room 1'})": "a slip without the field id",
}


@pytest.mark.parametrize("body", HARDLY_MORE)
def test_nor_does_what_is_hardly_more_than_the_stub(check, tmp_path, body):
    path = tmp_path / "claim.py"
    path.write_text(f"def claim_due(redis, delayed, ready, limit):\n    {body}\n", "utf-8")
    said = check(path)
    assert said.startswith("Not yet. ")
    assert HARDLY_MORE[body] in said


def test_a_real_server_has_the_last_word(names, redis):
    right = runpy.run_path(os.fspath(RIGHT[0]))["claim_due"]
    redis.set("here", "before")
    reports = list(names["explorations"](right))
    assert all(reports)
    assert len(reports) == (7 if redis.server.kind == "private" else 6)
    assert redis.exists("here") == (redis.server.kind != "private"), "a real server is emptied for it, a fake is not"


def test_hints_of_the_folder_are_those_of_the_page():
    hints = re.findall(r"^## \d\. .*\n\n(.*)$", (HERE / "hints.md").read_text("utf-8"), re.MULTILINE)
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    assert len(hints) == 3
    assert all(hint in prose for hint in hints)


def test_the_page_counts_its_wrong_answers():
    prose = "\n".join(cell.source for cell in CELLS if cell.cell_type == "markdown")
    assert len(WRONG) == 12
    assert "[twelve wrong ones](../solutions/02_atomic_claim/wrong)" in prose
