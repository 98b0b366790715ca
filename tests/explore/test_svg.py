import itertools
import re
from typing import NamedTuple
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from rich.cells import cell_len
from support.timelines import AT_ONCE, EVIL, FAULTS, JUMP, LONG, RACY, SEEN, coverages, failures

from jobkit.explore.svg import ADVANCE, LOOKS, timeline_svg
from jobkit.explore.trace import Coverage, Failure, Kind, Step
from jobkit.explore.verdict import NOT_MODELLED, verdict
from jobkit.explore.words import lanes, plain, told

SVG = "{http://www.w3.org/2000/svg}"
TALL = Failure(
    promise="p",
    what="w",
    schedule="A",
    steps=tuple(Step(kind, name, "x" * 99, "y" * 99) for kind in Kind for name in "ABCR"),
    forced=0,
)
MANY = [
    Failure(
        promise="p " * 99,
        what="w " * 99,
        schedule="A" * 99,
        steps=tuple(Step(Kind.COMMAND, names[n % len(names)], "GET" * n, "1") for n in range(25)),
        forced=0,
    )
    for names in ("A", "AB", "ABC", "ABCR")
]


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other):
        wider = self.left <= other.left and other.right <= self.right
        return wider and self.top <= other.top and other.bottom <= self.bottom

    def meets(self, other):
        apart = (
            self.right <= other.left or other.right <= self.left or self.bottom <= other.top or other.bottom <= self.top
        )
        return not apart


def parsed(failure, coverage=SEEN):
    return ET.fromstring(timeline_svg(failure, coverage))


def box(element):
    """Where a rectangle, with its edge, or a line of text stands."""
    number = {name: float(value) for name, value in element.attrib.items() if re.fullmatch(r"-?[\d.]+", value)}
    if element.tag == f"{SVG}rect":
        edge = number.get("stroke-width", 0) / 2
        left, top = number["x"] - edge, number["y"] - edge
        return Box(left, top, left + number["width"] + 2 * edge, top + number["height"] + 2 * edge)
    wide = cell_len(element.text or "") * number["font-size"] * ADVANCE
    left = number["x"] - {"start": 0, "middle": wide / 2, "end": wide}[element.get("text-anchor")]
    return Box(left, number["y"] - 0.8 * number["font-size"], left + wide, number["y"] + 0.25 * number["font-size"])


def strokes(tree):
    """The lines, as boxes without a width."""
    return [Box(*map(float, re.findall(r"[\d.]+", line.get("d")))) for line in of(tree, "path")]


def of(tree, tag):
    return list(tree.iter(f"{SVG}{tag}"))


def groups(tree):
    """The boxes of the steps, with their words."""
    return [(group, of(group, "rect")[0], of(group, "text")) for group in of(tree, "g")]


@given(failure=failures(most=25))
@example(failure=EVIL)
@example(failure=LONG)
@example(failure=TALL)
@example(failure=MANY[0])
@example(failure=MANY[1])
@example(failure=MANY[2])
@example(failure=MANY[3])
def test_nothing_overlaps_and_nothing_is_cut_off(failure):
    tree = parsed(failure)
    sheet = Box(0, 0, float(tree.get("width")), float(tree.get("height")))
    paper, *boxes = map(box, of(tree, "rect"))
    texts = [box(text) for text in of(tree, "text")]
    assert paper == sheet
    for one in (*boxes, *texts):
        assert sheet.holds(one)
    for one, other in itertools.combinations(boxes, 2):
        assert not one.meets(other)
    for one, other in itertools.combinations(texts, 2):
        assert not one.meets(other)
    for text in texts:
        assert not any(text.meets(one) and not one.holds(text) for one in boxes)
    assert all(sheet.holds(line) for line in strokes(tree))


@given(failure=failures())
@example(failure=EVIL)
def test_every_step_has_a_box_in_its_lane_with_its_words(failure):
    tree = parsed(failure)
    found = groups(tree)
    assert len(found) == len(failure.steps)
    names = lanes(failure)
    middles = {name: line.left for name, line in zip(names, strokes(tree)[: len(names)], strict=True)}
    for number, (step, (group, rect, texts)) in enumerate(zip(failure.steps, found, strict=True), 1):
        assert group[0].tag == f"{SVG}title"  # all of its words, for the pointer
        assert group[0].text == told(number, step)
        *words, count = [text.text or "" for text in texts]
        assert count == str(number)
        if not any("…" in line for line in words):
            assert " ".join(words) == re.sub(r"^\d+\. (\w: )?", "", told(number, step))
        where = box(rect)
        assert all(where.holds(box(text)) for text in texts[:-1])
        if step.kind is not JUMP:
            assert abs((where.left + where.right) / 2 - middles[step.worker]) < 1


def test_a_picture():
    tree = parsed(RACY)
    assert tree.get("role") == "img"
    words = [text.text for text in of(tree, "text")]
    assert words[:4] == ["FAIL run j0 done 2 times (by B, A)", "6 steps, 1 forced switch", "worker A", "worker B"]
    assert words[4:8] == ["ZRANGE delayed .. -> [j0]", "1", "ZRANGE delayed .. -> [j0]", "2"]
    assert words[-2:] == ["Broken promise: each runs once", "schedule ABBBAA"]


def test_each_sort_of_step_has_words_and_a_look_of_its_own():
    assert LOOKS.keys() == set(Kind)
    looks = [look._replace(edge="", width=1) for look in LOOKS.values()]  # as a bad copy of a slide has them
    assert len({*looks}) >= len(Kind) - 1  # a crash and an error differ in their words
    words = [" ".join(text.text for text in texts[:-1]) for _, _, texts in groups(parsed(FAULTS))]
    assert words == [
        "ZREM delayed j0 -> (reply lost: 1)",
        "wakes up",
        "30 s pass",
        "dies before RPUSH ready j0",
        "LRANGE running 0 -1 -> []",
        "raises IndexError: empty",
    ]


def test_a_workers_line_ends_where_it_dies_and_a_recovery_begins_later():
    tree = parsed(FAULTS)
    worker, recovery = ((line.top, line.bottom) for line in strokes(tree)[:2])
    tops = [box(rect).top for _, rect, _ in groups(tree)]
    assert worker[0] < tops[0]
    assert tops[3] < worker[1] < tops[4] < recovery[0] + 2
    assert recovery[1] > tops[5]


def test_it_fits_a_slide():
    wide = [int(parsed(failure).get("width")) for failure in (*MANY, TALL)]
    assert max(wide[:2]) <= 1024
    assert max(wide) <= 1440


def test_a_promise_that_the_set_up_breaks_says_so():
    assert "It is broken before the first step." in [text.text for text in of(parsed(AT_ONCE), "text")]


def test_time_passes_for_all_lanes():
    boxes = [box(rect) for _, rect, _ in groups(parsed(FAULTS))]
    assert all(boxes[2].left < other.left + 1 and other.right < boxes[2].right + 1 for other in boxes)


@given(failure=failures())
@example(failure=EVIL)
@example(failure=AT_ONCE)
def test_the_twin_says_all_of_it(failure):
    tree = parsed(failure)
    title, desc = tree.find(f"{SVG}title"), tree.find(f"{SVG}desc")
    assert title.text == verdict(failure, SEEN)
    steps = [told(number, step) for number, step in enumerate(failure.steps, 1)]
    assert desc.text.split("\n")[: len(steps)] == steps
    promise = " ".join(desc.text.split("\n")[max(len(steps), 1) :])
    assert promise.replace(" ", "") == f"Broken promise: {plain(failure.promise)}".replace(" ", "")
    assert failure.steps or desc.text.startswith("It is broken before the first step.")


@pytest.mark.parametrize("failure", [RACY, FAULTS, LONG, EVIL, None])
def test_it_holds_only_shapes_and_words_and_is_the_same_each_time(failure):
    picture = timeline_svg(failure, SEEN)
    assert picture == timeline_svg(failure, SEEN)
    assert "<script>" not in picture
    allowed = {"svg", "defs", "title", "desc", "g", "rect", "path", "text"}
    assert {element.tag.removeprefix(SVG) for element in ET.fromstring(picture).iter()} <= allowed
    assert not re.search(r'\bon\w+="|href|url\(|<style|id="', picture)
    assert picture.startswith("<svg ")  # a file by itself, and a part of a page
    picture.encode()


@given(coverage=coverages)
@example(coverage=Coverage(8, 10**9, 99, complete=False, crashes=99, lost_replies=99, jumps=99))
def test_a_clean_search_is_a_page_of_words(coverage):
    tree = parsed(None, coverage)
    sheet = Box(0, 0, float(tree.get("width")), float(tree.get("height")))
    texts = of(tree, "text")
    assert all(sheet.holds(box(text)) for text in texts)
    assert not any(one.meets(other) for one, other in itertools.combinations(map(box, texts), 2))
    said = " ".join(text.text for text in texts)
    assert said.startswith(verdict(None, coverage))
    assert said.endswith(NOT_MODELLED)
