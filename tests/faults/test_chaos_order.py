"""What a campaign counts as a change of order: by hand, from a journal and from the lists of effects."""

import pytest

from jobkit.chaos.order import overlaps, overtaken
from jobkit.journal import Mark

LEASE = 1000


def journal(*lines):
    """Make marks of `at what worker job`, with an entity in the job's braces."""
    marks = (line.split() for line in lines)
    return [Mark(int(at), what, worker, 1, id, 1) for at, what, worker, id in marks]


CASES = {
    "one after the other": (["0 start w1 {a}1", "5 end w1 {a}1", "5 start w2 {a}2"], {}, 0),
    "two at once": (["0 start w1 {a}1", "5 start w2 {a}2", "6 end w1 {a}1"], {}, 1),
    "two of two entities": (["0 start w1 {a}1", "5 start w2 {b}1"], {}, 0),
    "the same job again": (["0 start w1 {a}1", "5 start w2 {a}1"], {}, 0),
    "after a kill": (["0 start w1 {a}1", "5 start w2 {a}2"], {"w1": 3}, 0),
    "before the kill": (["0 start w1 {a}1", "5 start w2 {a}2"], {"w1": 7}, 1),
    "after a lease": (["0 start w1 {a}1", "1000 start w2 {a}2"], {}, 0),
    "within a lease": (["0 start w1 {a}1", "999 start w2 {a}2"], {}, 1),
    "three, each over the last": (["0 start w1 {a}1", "1 start w2 {a}2", "2 start w3 {a}3"], {}, 2),
}


@pytest.mark.parametrize("case", CASES)
def test_overlaps(case):
    lines, killed, found = CASES[case]
    assert overlaps(journal(*lines), killed, LEASE) == found


@pytest.mark.parametrize(
    ("effects", "found"),
    [
        ({}, 0),
        ({"a": ["j1", "j3"], "b": ["j2"]}, 0),
        ({"a": ["j3", "j1"]}, 1),
        ({"a": ["j2", "j1"], "b": ["j3", "j0"]}, 2),
        ({"a": ["j1", "j1", "j2"]}, 0),
    ],
    ids=str,
)
def test_overtaken(effects, found):
    assert overtaken(effects, ["j0", "j1", "j2", "j3"]) == found
