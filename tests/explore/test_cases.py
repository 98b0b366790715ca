"""The table of 24 programs: which of them fail, how short the failure is, and how many schedules there are."""

import pytest
from support.classics import CASES, MANY
from support.searching import run, searching

from jobkit.explore import explore

SLOW = 5000
"""Schedules that a quick test does not run."""
counted = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if case.plain > SLOW else name for name, case in CASES.items()]
)


def counts(case, *, reduce, limit):
    asked = dict(case.settings)
    promises = {name: as_list(asked.pop(name, [])) for name in ("finally_", "never")}
    with searching(case.workers, reduce=reduce, limit=limit, **promises, **asked) as search:
        return run(search, None)


def as_list(promises):
    return [promises] if callable(promises) else promises


def test_all_are_there():
    assert len(CASES) == 24


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_and_the_shortest_failure(name):
    case = CASES[name]
    report = explore(*case.workers, **case.settings, bound=None)
    assert len(report.failure.steps if report.failure else []) == (case.steps or 0), str(report)
    assert report.coverage.complete


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.steps is not None])
def test_what_fails_fails_in_replay_too(name):
    case = CASES[name]
    report = explore(*case.workers, **case.settings, bound=3)
    again = explore(*case.workers, **case.settings, schedule=report.failure.schedule)
    assert again.failure.steps == report.failure.steps


@counted
def test_how_many_schedules_there_are(name):
    case = CASES[name]
    search = counts(case, reduce=False, limit=MANY)
    assert (search.schedules, search.complete) == (case.plain, case.plain != MANY)


@counted
def test_how_many_are_left_when_reduced(name):
    case = CASES[name]
    search = counts(case, reduce=True, limit=MANY)
    assert (search.schedules, search.complete) == (case.reduced, True)


@pytest.mark.parametrize("name", CASES)
def test_a_count_that_differs_from_the_published_one_says_why(name):
    case = CASES[name]
    assert bool(case.why) == ((case.plain, case.reduced) != case.published)
