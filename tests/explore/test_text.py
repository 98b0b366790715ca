import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len, set_cell_size
from support.timelines import (
    AT_ONCE,
    COMMAND,
    CROOKED,
    EVIL,
    FAULTS,
    JUMP,
    LONG,
    RACY,
    WAIT,
    coverages,
    failures,
    words,
)

from jobkit.explore.text import clean_text, timeline_text
from jobkit.explore.trace import Change, Coverage, Step
from jobkit.explore.verdict import NOT_MODELLED
from jobkit.explore.words import folded, lanes, plain, said, shortened, told

BELOW = re.compile(" {6,}changed ")

PICTURE = """\
FAIL  run j0 done 2 times (by B, A)                     6 steps, 1 forced switch

    A                           B                           what changed
 1  ZRANGE delayed .. -> [j0]
 2                              ZRANGE delayed .. -> [j0]
 3                              ZREM delayed j0 -> 1        delayed: {j0} -> {}
 4                              ** run j0 **
 5  ZREM delayed j0 -> 0
 6  ** run j0 **

Broken promise: each runs once
See it again:   explore(..., schedule="ABBBAA")"""

TROUBLE = """\
FAIL  j0 is lost                  6 steps, 1 crash, 1 lost reply, 1 jump of time

    A                                    R (recovery)
 1  ZREM delayed j0 -> (reply lost: 1)
      changed delayed: {j0} -> (none)
 2  ( wakes up )
 3  -- 30 s pass ---------------------------------------------------------------
 4  xx dies before RPUSH ready j0 xx
 5                                       LRANGE running 0 -1 -> []
 6                                       !! raises IndexError: empty !!

Broken promise: nothing is lost
See it again:   explore(..., schedule="A?+A!")"""

STAIRS = """\
FAIL  the ack of token 7 changed job j1                3 steps, no forced switch

    A       B       C
 1  A: EVALSHA claim 3 {mail}:ready {mail}:leases {mail}:job: w1 300… -> [j1, 7]
 2          B: XREADGROUP GROUP workers B COUNT 10 STREAMS {mail}:ready > -> nil
 3                  C: ** charge 日本語 (room 412), then say so to everybody… **

Broken promise: a stale token has no effect
See it again:   explore(..., schedule="ABC")"""


@pytest.mark.parametrize(("failure", "picture"), [(RACY, PICTURE), (FAULTS, TROUBLE), (LONG, STAIRS)])
def test_pictures(failure, picture):
    assert timeline_text(failure) == picture


def test_changes_are_shown_where_there_is_room():
    assert "what changed" not in timeline_text(RACY, width=78)
    assert "lease: (none) -> A; q: [] -> [x]" in timeline_text(
        replace(RACY, steps=(Step(JUMP, "", "1 s", changes=(Change("lease", "", "A"), Change("q", "[]", "[x]"))),))
    )
    wide = timeline_text(FAULTS, width=120).splitlines()
    assert wide[2].endswith("  what changed")
    assert wide[3].endswith("  delayed: {j0} -> (none)")
    assert len(wide[5]) == wide[2].index("what") - 3  # time passes for all lanes, and beside what it changed


def test_one_lane_needs_no_names():
    line = rows(replace(RACY, steps=(Step(COMMAND, "A", "GET " + "k" * 99, "1"),)), 80)[1][0]
    assert line == f" 1  GET {'k' * 66}… -> 1"


def test_a_promise_that_the_set_up_breaks_has_no_lanes():
    assert timeline_text(AT_ONCE).splitlines()[2] == "It is broken before the first step."


def rows(failure, width):
    """Return the headings and the lines of the steps; what a step changed may stand below it, in a line of its own."""
    lines = timeline_text(failure, width).splitlines()
    head = lines.index("") + 1
    end = lines.index("", head + 1) if failure.steps else head + 1
    return lines[head], [line for line in lines[head + 1 : end] if not BELOW.match(line)]


@given(failure=failures(), width=st.sampled_from([40, 80, 200]))
@example(failure=FAULTS, width=80)
def test_what_a_step_changed_stands_beside_it_or_below(failure, width):
    lines = timeline_text(failure, width).splitlines()
    changes = [step for step in failure.steps if step.changes]
    below = list(filter(BELOW.match, lines))
    assert len(below) in (0, len(changes))
    assert bool(changes) == (bool(below) or any(line.endswith("  what changed") for line in lines))


@given(failure=failures(), width=st.integers(0, 200))
@example(failure=EVIL, width=80)
def test_no_line_is_wider_than_the_terminal(failure, width):
    for line in timeline_text(failure, width).split("\n"):
        assert cell_len(line) <= max(width, 40)
        assert line.isprintable()
        assert line == line.rstrip()


@given(failure=failures(), width=st.sampled_from([40, 80, 200]))
@example(failure=EVIL, width=80)
def test_every_word_of_every_step_is_there_or_visibly_shortened(failure, width):
    _, lines = rows(failure, width) if failure.steps else ("", [])
    assert len(lines) == len(failure.steps)
    for number, (line, step) in enumerate(zip(lines, failure.steps, strict=True), 1):
        assert re.match(rf" *{number}  ", line)
        if "…" not in line:
            text = plain(step.text)
            assert text.rstrip() in line
            assert plain(step.reply).rstrip() in line


@given(failure=failures())
@example(failure=CROOKED)
@example(failure=LONG)
@example(failure=WAIT)
def test_a_step_stands_in_its_workers_lane(failure):
    if not failure.steps:
        return
    head, lines = rows(failure, 80)
    places = {name: re.search(rf"(^| ){name}( |$)", head).start() + 1 for name in lanes(failure)}
    ends = dict(zip(places, [*list(places.values())[1:], head.find("what changed") % 1000], strict=False))
    for line, step in zip(lines, failure.steps, strict=True):
        place = 4 if step.kind is JUMP else places[step.worker]
        assert not line[4:place].strip()
        if step.kind is JUMP:
            assert line[4:].startswith("-- ")
        elif not line[place:].startswith(f"{step.worker}:"):  # else it may reach below other names: it has its own
            bare = "".join(filter(cell_len, line))  # what has no width stands on what is before it, the gap too
            assert set_cell_size(bare, ends[step.worker]).endswith("  ")


@given(text=words, room=st.integers(1, 100))
def test_a_text_is_cut_at_its_end_and_says_so(text, room):
    cut = shortened(plain(text), room)
    assert cell_len(cut) <= room
    assert cut == plain(text) or (cut[-1] == "…" and plain(text).startswith(cut[:-1]))
    assert (cut == plain(text)) == (cell_len(plain(text)) <= room)


@given(text=words, room=st.integers(2, 100))
def test_folding_loses_nothing(text, room):
    lines = folded(plain(text), room)
    assert all(cell_len(line) <= room for line in lines)
    assert "".join(lines).replace(" ", "") == plain(text).replace(" ", "")


def test_a_step_in_one_line():
    lines = [told(number, step) for number, step in enumerate(FAULTS.steps, 1)]
    assert lines[:3] == ["1. A: ZREM delayed j0 -> (reply lost: 1)", "2. A: wakes up", "3. 30 s pass"]
    assert lines[3:] == [
        "4. A: dies before RPUSH ready j0",
        "5. R: LRANGE running 0 -1 -> []",
        "6. R: raises IndexError: empty",
    ]


def test_one_second_passes_and_two_pass():
    assert [str(said(Step(JUMP, "", text))) for text in ("1 s", "2 s", "")] == ["1 s passes", "2 s pass", "time passes"]


@given(coverage=coverages, width=st.integers(0, 120))
def test_a_clean_report_fits_and_says_what_it_did_not_look_at(coverage, width):
    text = clean_text(coverage, width)
    assert all(len(line) <= max(width, 40) for line in text.splitlines())
    assert " ".join(text.split()).endswith(NOT_MODELLED)


def test_a_clean_report():
    lines = clean_text(Coverage(2, 82, None, complete=True, crashes=1)).splitlines()
    assert lines[:2] == [
        "no failing schedule: all schedules of 2 workers, up to 1 crash (82 run)",
        "Not tried: lost replies, jumps of time.",
    ]
