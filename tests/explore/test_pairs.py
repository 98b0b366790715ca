"""Every pair of the kit's own operations, in every order, with a crash and a lost reply."""

import pytest
from support import page
from support.pairs import PAIRS, meetings, met, row
from support.parts import LONG, OPERATIONS

from jobkit.ready import Leases, Lists, Streams

SHORT = [pair for pair in PAIRS if not LONG & set(pair)]
PART = [(Lists(), *pair) for pair in SHORT[::8]] + [(Leases(), *pair) for pair in SHORT[1::8]]
"""Of the other stores an eighth of the pairs each; the slow tests run all."""
NAMES = [" and ".join(pair) for pair in SHORT]

THREE = [
    ("submit", "purge", "requeue", "dead"),
    ("submit", "cancel", "claim, ack", "nothing"),
    ("promote", "cancel", "claim, ack", "due"),
    ("claim, once, ack", "cancel", "tick", "ready"),
    ("claim, fail", "requeue", "tick", "ready, 1 run"),
    ("ack", "recover", "claim, ack", "late"),
    ("ack", "fail", "release", "late"),
    ("once, ack", "recover", "claim, once, ack", "late"),
    ("extend", "recover", "claim, once, ack", "late"),
    ("fail", "requeue", "cancel", "running, last run"),
    ("ack_and_claim", "claim, ack", "tick", "running, another ready"),
    ("ack", "extend", "tick", "late, asked to stop"),
]


def holds(report):
    assert report, str(report)
    assert report.coverage.complete, report.verdict


@pytest.mark.parametrize(("first", "second"), SHORT, ids=NAMES)
def test_two_meet(first, second):
    holds(met(first, second, meetings(first, second)[0], clock_jump=0))


@pytest.mark.parametrize(("store", "first", "second"), PART, ids=lambda value: getattr(value, "name", value))
def test_two_meet_on_another_store(store, first, second):
    holds(met(first, second, meetings(first, second)[0], store=store, clock_jump=0))


@pytest.mark.parametrize("operation", sorted(LONG))
def test_one_of_many_commands_meets_a_cancel(operation):
    holds(met(operation, "cancel", meetings("cancel", operation)[0], clock_jump=0))


@pytest.mark.slow
@pytest.mark.parametrize("where", THREE, ids=", ".join)
def test_three_meet(where):
    holds(met(*where))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("store", [Streams(), Lists(), Leases()], ids=lambda store: store.name)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_wherever_they_meet(operation, store):
    assert not row(operation, store).broken


def test_the_page_has_the_other_stores():
    lines = [line.split("|")[1:-1] for line in page.table("stores").values()]
    meet = sum(len(meetings(*pair)) for pair in PAIRS)
    assert [[cell.strip() for cell in line[:3]] for line in lines] == [
        [name, str(len(PAIRS)), str(meet)] for name in ("lists", "leases")
    ]
    assert all(line[-1].strip() == "no failing schedule" for line in lines)


def test_the_page_adds_up():
    *rows, last = [line.split("|")[1:-1] for line in page.table("pairs").values()]
    assert [cells[0].strip() for cells in rows] == list(OPERATIONS)
    for column in (1, 2, 3):
        assert sum(int(cells[column].replace(",", "")) for cells in rows) == int(last[column].replace(",", ""))
    assert int(last[1]) == len(PAIRS)
    assert int(last[2]) == sum(len(meetings(*pair)) for pair in PAIRS)
