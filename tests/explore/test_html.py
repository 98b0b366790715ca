import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from support.timelines import AT_ONCE, COMMAND, EVIL, FAULTS, JUMP, LONG, RACY, SEEN, WAIT, coverages, failures

from jobkit.explore.html import timeline_html
from jobkit.explore.trace import Coverage, Step
from jobkit.explore.verdict import NOT_MODELLED, verdict
from jobkit.explore.words import lanes, plain

TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "code", "strong", "bdi", "p", "details", "summary"}
ATTRIBUTES = {"scope": {"col", "row"}, "align": {"center"}, "colspan": None, "style": None}


def parsed(failure, coverage=SEEN):
    """Return the page as a tree: it is well-formed, and holds nothing but words."""
    tree = ET.fromstring(f"<div>{timeline_html(failure, coverage)}</div>")
    for element in list(tree.iter())[1:]:
        assert element.tag in TAGS
        assert element.attrib.keys() <= ATTRIBUTES.keys()
        for name, value in element.attrib.items():
            assert ATTRIBUTES[name] is None or value in ATTRIBUTES[name]
    return tree


def text(element):
    return "".join(element.itertext())


def grid(tree):
    """Return the headings and the rows, as words."""
    return [[text(cell) for cell in row] for row in tree.iter("tr")]


def test_a_column_per_worker_a_row_per_step():
    tree = parsed(RACY)
    assert text(tree.find("table/caption")) == "FAIL run j0 done 2 times (by B, A); 6 steps, 1 forced switch"
    assert grid(tree) == [
        ["step", "worker A", "worker B", "what changed"],
        ["1", "ZRANGE delayed .. → [j0]", "", ""],
        ["2", "", "ZRANGE delayed .. → [j0]", ""],
        ["3", "", "ZREM delayed j0 → 1", "delayed: {j0} → {}"],
        ["4", "", "effect: run j0", ""],
        ["5", "ZREM delayed j0 → 0", "", ""],
        ["6", "effect: run j0", "", ""],
    ]
    promise, again = (text(element) for element in tree.findall("p"))
    assert promise == "Broken promise: each runs once: run j0 done 2 times (by B, A)."
    assert again.startswith('See it again: explore(..., schedule="ABBBAA"). 57 schedules of 2 workers run; ')


def test_faults_are_words_and_time_is_shown_where_it_passes():
    assert grid(parsed(FAULTS)) == [
        ["step", "time", "worker A", "recovery R", "what changed"],
        ["1", "0 s", "ZREM delayed j0 → (reply lost: 1)", "", "delayed: {j0} → (none)"],
        ["2", "1 s", "wakes up", "", ""],
        ["3", "31 s", "-- 30 s pass --", ""],
        ["4", "31 s", "dies before RPUSH ready j0", "", ""],
        ["5", "31 s", "", "LRANGE running 0 -1 → []", ""],
        ["6", "31 s", "", "raises IndexError: empty", ""],
    ]
    quick = replace(RACY, steps=(*RACY.steps[:5], replace(RACY.steps[5], at=1_234_500)))
    assert [row[1] for row in grid(parsed(quick))][-2:] == ["0 s", "1,234.5 s"]


def test_commands_are_code_and_what_is_more_is_bold():
    cells = {text(cell): [part.tag for part in cell.iter()][1:] for cell in parsed(FAULTS).iter("td")}
    assert cells["LRANGE running 0 -1 → []"] == ["code", "bdi", "code"]
    assert cells["ZREM delayed j0 → (reply lost: 1)"] == ["code", "bdi", "strong"]
    assert cells["dies before RPUSH ready j0"] == ["strong"]
    assert cells["wakes up"] == ["strong"]


@given(failure=failures())
@example(failure=EVIL)
@example(failure=LONG)
@example(failure=WAIT)
def test_headings_tell_a_screen_reader_whose_cell_it_is(failure):
    tree = parsed(failure)
    if not failure.steps:
        return
    table = tree.find("table")
    assert table[0].tag == "caption"
    head = table.findall("thead/tr/th")
    assert {cell.get("scope") for cell in head} == {"col"}
    assert all(text(cell) for cell in head)
    names = [word.split()[-1] for word in map(text, head) if word.startswith(("worker", "recovery"))]
    assert names == lanes(failure)
    rows = table.findall("tbody/tr")
    assert [text(row[0]) for row in rows] == [str(n + 1) for n in range(len(failure.steps))]
    for row in rows:
        assert (row[0].tag, row[0].get("scope")) == ("th", "row")
        assert {cell.tag for cell in row[1:]} <= {"td"}
        assert sum(int(cell.get("colspan", 1)) for cell in row) == len(head)


@given(failure=failures(), coverage=coverages)
@example(failure=EVIL, coverage=SEEN)
def test_every_word_is_there_or_visibly_shortened(failure, coverage):
    tree = parsed(failure, coverage)
    said = text(tree)
    assert said.isprintable()
    for row, step in zip(tree.findall("table/tbody/tr"), failure.steps, strict=True):
        words = text(row)
        if "…" not in words:
            assert plain(step.text) in words
            assert plain(step.reply) in words
            assert all(
                plain(part) in words for change in step.changes for part in (change.key, change.before, change.after)
            )
    for words in (failure.promise, failure.what, failure.schedule):
        assert plain(words) in said


@given(failure=failures())
def test_a_step_stands_in_its_workers_column(failure):
    columns = {f"{'recovery' if name >= 'R' else 'worker'} {name}": name for name in lanes(failure)}
    tree = parsed(failure)
    heads = [columns.get(text(cell)) for cell in tree.findall("table/thead/tr/th")]
    for row, step in zip(tree.findall("table/tbody/tr"), failure.steps, strict=True):
        if step.kind is JUMP:
            across = [cell for cell in row if cell.get("align") == "center"]
            assert [cell.get("colspan") for cell in across] == [str(len(columns) or 1)]
        else:
            assert all(not text(cell) for cell, name in zip(row, heads, strict=True) if name not in {None, step.worker})


def test_a_long_key_does_not_push_the_other_workers_off_the_page():
    page = timeline_html(
        replace(RACY, steps=(Step(COMMAND, "A", "GET " + "k" * 50), Step(COMMAND, "B", "GET k"))), SEEN
    )
    assert re.findall(r'<td style="([^"]*)"', page) == [
        "text-align:left;vertical-align:top;overflow-wrap:anywhere",
        "text-align:left;vertical-align:top",
    ]


def test_nothing_that_a_key_holds_becomes_markup():
    page = timeline_html(EVIL, SEEN)
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;" in page
    assert "\\x1b[31m\\n\\u202e\\ud800\\x00" in page
    page.encode()


def test_it_needs_no_styles_and_brings_none_for_the_page():
    page = timeline_html(FAULTS, SEEN)
    bare = re.sub(r' style="[^"]*"', "", page)
    assert text(ET.fromstring(f"<div>{bare}</div>")) == text(parsed(FAULTS))
    assert len(set(re.findall(r'style="([^"]*)"', page))) <= 5
    assert not re.search(r"<style|<script|class=|id=|href|src=|url\(", page)


def contrast(one, other):
    def light(color):
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, bright = sorted([light(one), light(other)])
    return (bright + 0.05) / (dark + 0.05)


def test_the_broken_promise_is_red_and_readable_on_any_page():
    tree = parsed(RACY)
    mark = tree.find("p/strong")
    assert text(mark) == "Broken promise:"
    style = dict(part.split(":") for part in mark.get("style").split(";"))
    assert contrast(style["background"], "#ffffff") >= 7
    assert style["color"] == "#fff"
    others = [element.get("style") for element in tree.iter() if element is not mark and element.get("style")]
    assert not any("color" in style or "background" in style for style in others)


def test_a_promise_that_the_set_up_breaks_needs_no_table():
    tree = parsed(AT_ONCE)
    assert tree.find("table") is None
    assert text(tree[0]) == "FAIL the queue is empty; 0 steps, no forced switch. It is broken before the first step."


@pytest.mark.parametrize("coverage", [Coverage(2, 42, 2, complete=True, crashes=1, longest=9), SEEN])
def test_a_clean_report_says_what_was_covered_and_what_is_not_modelled(coverage):
    found, rest = map(text, parsed(None, coverage))
    said = "N" + verdict(None, coverage)[1:] + "."
    assert found == f"{said} The longest schedule has 9 steps. Not tried: lost replies, jumps of time."
    assert rest == f"What this does not prove{NOT_MODELLED}"


@given(coverage=coverages)
def test_any_clean_report_is_a_paragraph_and_what_it_does_not_prove(coverage):
    assert [child.tag for child in parsed(None, coverage)] == ["p", "details"]
