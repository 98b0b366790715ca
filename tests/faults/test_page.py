"""docs/faults.md names tests that there are, and every test of a fault is named there."""

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = (TESTS.parent / "docs" / "faults.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(\w+/test_\w+\.py)(?:::(\w+))?`", PAGE)))
ROWS = [line for line in PAGE.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize(("file", "test"), NAMED)
def test_a_test_that_is_named_is_there(file, test):
    text = (TESTS / file).read_text("utf-8")
    assert not test or re.search(rf"^def {test}\(", text, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.split("|")[1].strip())
def test_a_row_has_its_proof_or_says_that_it_is_of_a_later_part(row):
    *_, proof, _ = row.split("|")
    assert "/test_" in proof or proof.strip().startswith("later: ")


def test_every_file_about_faults_is_named():
    files = {f"faults/{path.name}" for path in TESTS.glob("faults/test_*.py")} - {"faults/test_page.py"}
    assert files - {file for file, _ in NAMED} == set()
