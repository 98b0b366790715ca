"""Random programs: a search that leaves schedules out reaches the same outcomes as one that leaves out none."""

from types import SimpleNamespace

import pytest
from support.chance import BLOCKS, HASHES, STRINGS, TIMELESS, ZSETS, RandomProgram, outcome
from support.searching import searching

from jobkit.errors import ExploreError
from jobkit.explore import ground
from jobkit.explore.commands import NOTHING, Footprint, footprint
from jobkit.explore.ground import Ground
from jobkit.explore.order import Order
from jobkit.explore.seen import Moment, Seen

PROGRAMS, AT_ONCE = 300, 20
MANY = 48
"""Schedules of one search; where there are more, only those with less forced are compared."""


def outcomes(program, bound, *, reduce, limit=20_000, redis=None, times=True):
    """Return (outcome, what was forced) of each schedule, and whether these are all within the bound."""
    reached, found = [], []

    def look(world):
        reached.append(outcome(world, times=times))

    asked = {"finally_": [look], "may_raise": (Exception,), "limit": limit, "redis": redis} | program.settings
    with searching(program.workers, reduce=reduce, **asked) as search:
        for _ in search.simplest_first(bound, stop=False):
            forced = sum(fork.options[fork.at].cost for fork in search._path)
            found += [(text, forced) for text in reached]
            reached.clear()
    return found, search.complete


def compare(seed, limit=MANY, **asked):
    """Assert that both searches of a program reach the same, without a bound and under one of the bounds."""
    program = RandomProgram(seed, **asked)
    for most in (None, 1, 0):
        plain, complete = outcomes(program, most, reduce=False, limit=limit)
        if complete:
            break
    else:
        pytest.fail(f"too many schedules: {program}")
    for bound in {most, seed % 3 if most is None else most}:
        reduced, _ = outcomes(program, bound, reduce=True)
        expected = {text for text, forced in plain if bound is None or forced <= bound}
        assert {text for text, _ in reduced} == expected, f"seed {seed}, bound {bound}: {program}"


slow = [pytest.mark.slow, pytest.mark.timeout(1800)]
"""A busy machine takes a minute for twenty programs."""


@pytest.mark.parametrize(
    "first", [0, 20, *[pytest.param(first, marks=slow) for first in range(2 * AT_ONCE, PROGRAMS, AT_ONCE)]]
)
def test_a_reduced_search_reaches_what_a_plain_one_reaches(first):
    for seed in range(first, first + AT_ONCE):
        compare(seed)


@pytest.mark.parametrize("first", [pytest.param(first, marks=slow) for first in range(10_000, 10_200, 50)])
def test_more_and_larger_ones(first):
    for seed in range(first, first + 50):
        compare(seed, limit=1000, sizes=[[3, 3], [4, 4], [3, 2, 2], [2, 3, 2], [4, 3]])


@pytest.mark.parametrize("first", [0, *[pytest.param(first, marks=slow) for first in range(8, 32, 8)]])
def test_a_real_server_has_the_same_outcomes_as_the_fake(live, first):
    for seed in range(first, first + 8):
        program = RandomProgram(seed, kinds=TIMELESS, sizes=[[2, 2], [3, 2]])
        fake, plain, reduced = (
            {text for text, _ in outcomes(program, 1, reduce=reduce, redis=redis, times=False)[0]}
            for redis, reduce in ((None, True), (live, False), (live, True))
        )
        assert plain == reduced, f"seed {seed}: {program}"
        assert fake == plain, f"seed {seed}: {program}"


def test_most_programs_depend_on_the_order():
    """Two dull programs would agree, too."""
    ends = [outcomes(RandomProgram(seed), 1, reduce=True)[0] for seed in range(30)]
    assert sum(len({text for text, _ in found}) > 1 for found in ends) > 15


def zrem_reads(args):
    """Take ZREM for a command that reads."""
    seen = footprint(args)
    return Footprint(reads=seen.reads) if args[0].upper() == b"ZREM" else seen


def unwatched(self, commands, _connection):
    """Forget that EXEC depends on what is watched."""
    return TOUCHED(self, commands, SimpleNamespace(watched=NOTHING))


TOUCHED = Ground._touched


def heedless(self, *step):
    """Forget who has written a key before it is read."""
    self._written.clear()
    return NUMBER(self, *step)


NUMBER = Order._number
MUTANTS = {  # what is changed, in which programs it shows, and shortly before which of them
    "ZREM reads": (ground, "footprint", zrem_reads, [ZSETS], 0),
    "EXEC sees no watch": (Ground, "_touched", unwatched, [BLOCKS, HASHES], 55),
    "who ran last is forgotten": (Seen, "_reduced", lambda _, moment: Moment(moment.past, ""), [STRINGS, ZSETS], 15),
    "who has written is forgotten": (Order, "_number", heedless, [STRINGS], 0),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_in_the_engine_is_caught(name, monkeypatch):
    place, part, wrong, kinds, first = MUTANTS[name]
    monkeypatch.setattr(place, part, wrong)
    with pytest.raises((AssertionError, ExploreError), match=r"bound|did not do the same twice"):
        _compare_all(kinds, first)


def _compare_all(kinds, first):
    for seed in range(first, first + PROGRAMS):
        compare(seed, kinds=kinds)
