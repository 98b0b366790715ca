"""What is stored: in step with its source, clean, with its points, readable without its pictures, and well paced."""

import re
import statistics
from itertools import pairwise

import pytest

from jobkit.cli import notebooks, store

POINTS = {f"{letter}{n}" for letter, last in (("A", 19), ("B", 9), ("C", 11)) for n in range(1, last + 1)}
TAGS = {
    "varies",  # its output differs from run to run: the metadata `varies` says why
    "raises-exception",  # it is meant to fail
    "widget",  # a slider: the next code cell is its static twin
    "check",  # a piece of an exercise's check, run by the tests against wrong answers
}
NO_PLACE = re.compile(r"(?<![\w.])/(home|root|tmp|work|usr|var|opt|private|Users)/|[A-Z]:\\\\|site-packages|\.venv/lib")
WORDS_PER_MINUTE = 150


def words(cell):
    return len(re.findall(r"\w\S*", cell.source))


def lines(cell):
    """How many lines of code: a bracket that closes is none."""
    return sum(1 for line in cell.source.splitlines() if line.strip(" )]},:"))


def test_in_step_with_its_source(name):
    assert store.out_of_step(notebooks.FOLDER / f"{name}.py") == ""


def test_ran_once_from_top_to_bottom(code):
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


def test_no_error_no_warning_no_place_of_a_machine(code):
    for cell in code:
        for output in cell.outputs:
            assert output.get("name") != "stderr", cell.source
            assert output.output_type != "error" or "raises-exception" in cell.metadata.get("tags", []), cell.source
            text = str(output.get("text", "")) + str({k: v for k, v in output.get("data", {}).items() if "text" in k})
            assert not NO_PLACE.search(text), text
            assert not re.search(r"\b\w*Warning\b", text), text
            assert "as JOBKIT_REDIS says" not in text, "a new reader has not set it"


def test_tags_are_known_and_reasons_given(source):
    for cell in source.cells:
        tags = set(cell.metadata.get("tags", []))
        assert tags <= TAGS, cell.source
        assert ("varies" in tags) == bool(cell.metadata.get("varies", "").strip()), cell.source


def test_every_section_names_its_points(source):
    for cell in source.cells:
        headings = re.findall(r"^##+ .*", cell.source, re.MULTILINE) if cell.cell_type == "markdown" else []
        assert len(headings) <= 1, f"a section begins its cell: {headings}"
        if headings:
            assert cell.source.startswith("##"), headings
            assert isinstance(cell.metadata.get("points"), list), headings
        assert set(cell.metadata.get("points", [])) <= POINTS


def test_it_shows_a_point_at_all(source):
    assert any(cell.metadata.get("points") for cell in source.cells)


def test_a_picture_can_be_read(code):
    """After each image stands its twin, folded; a slider is followed by a table or picture that needs no kernel."""
    for n, cell in enumerate(code):
        data = [output.get("data", {}) for output in [*cell.outputs, {}]]
        for output, after in pairwise(data):
            if "image/png" in output:
                assert "<details>" in after.get("text/html", ""), cell.source
        if "widget" in cell.metadata.get("tags", []):
            assert code[n + 1].outputs, cell.source


def test_rhythm(source):
    prose = [words(cell) for cell in source.cells if cell.cell_type == "markdown"]
    code = sorted(lines(cell) for cell in source.cells if cell.cell_type == "code")
    assert 20 <= statistics.median(prose) <= 50
    assert statistics.median(code) <= 5
    assert code[int(0.9 * len(code))] < 18
    kinds = "".join(cell.cell_type[0] for cell in source.cells)
    assert "cc" not in kinds, "two code cells without a word between them"
    assert kinds[0] == "m"
    assert kinds[-1] == "m"


def test_no_line_of_code_is_cut_by_a_browser(source):
    """A window 1,200 px wide shows 88 characters of a code cell, or of code in the prose; the rest is out of sight."""
    code = [cell.source for cell in source.cells if cell.cell_type == "code"]
    prose = "\n".join(cell.source for cell in source.cells if cell.cell_type == "markdown")
    code += re.findall(r"^```\w*\n(.*?)^```", prose, re.MULTILINE | re.DOTALL)
    code += [(notebooks.FOLDER / f"{shown}.py").read_text("utf-8") for shown in ("desk", "cellar")]  # 05 and 06
    assert [line for text in code for line in text.splitlines() if len(line) > 88] == []


def test_a_picture_or_a_table_for_every_third_cell(stored, code):
    drawn = [any({"image/png", "text/html"} & set(o.get("data", {})) for o in cell.outputs) for cell in code]
    written = [cell.cell_type == "markdown" and "|---|" in cell.source for cell in stored.cells]
    assert sum(drawn) + sum(written) >= len(code) / 3.5


def test_minutes_are_those_of_its_words(source):
    said = re.search(r"[Aa]bout (\d+) minutes", source.cells[0].source)
    if said is None:
        pytest.skip("it promises no minutes")
    assert int(said[1]) == pytest.approx(sum(map(words, source.cells)) / WORDS_PER_MINUTE, rel=0.2)
