import pytest
from hypothesis import given
from support.timelines import AT_ONCE, FAULTS, RACY, coverages, failures

from jobkit.explore.trace import Coverage, Failure, Kind, Step
from jobkit.explore.verdict import NOT_MODELLED, covered, effort, found, verdict

CLEAN = [
    (Coverage(2, 42, 2, complete=True), ": all schedules of 2 workers, up to 2 forced switches (42 run)"),
    (Coverage(2, 82, None, complete=True), ": all schedules of 2 workers (82 run)"),
    (
        Coverage(2, 42, 2, complete=True, crashes=1),
        ": all schedules of 2 workers, up to 2 forced events: switches, at most 1 crash (42 run)",
    ),
    (
        Coverage(1, 1, None, complete=True, crashes=2, lost_replies=2, jumps=1),
        ": all schedules of 1 worker, up to 2 crashes, 2 lost replies, 1 jump of time (1 run)",
    ),
    (Coverage(3, 500, 0, complete=False, random=True), " in 500 random schedules of 3 workers"),
    (
        Coverage(2, 1, 0, complete=False, random=True, lost_replies=1),
        " in 1 random schedule of 2 workers, up to 1 lost reply",
    ),
    (
        Coverage(3, 20_000, 1, complete=False),
        " in the first 20,000 schedules of 3 workers (the search was cut; it was complete up to 1 forced switch)",
    ),
    (
        Coverage(3, 20_000, -1, complete=False, crashes=1),
        " in the first 20,000 schedules of 3 workers, up to 1 crash (the search was cut)",
    ),
]


@pytest.mark.parametrize(("coverage", "said"), CLEAN)
def test_a_clean_search_says_what_it_has_covered(coverage, said):
    assert verdict(None, coverage) == f"no failing schedule{said}"


def test_one_schedule_that_was_asked_for_is_one():
    one = Coverage(2, 1, 0, complete=False)
    assert verdict(None, one) == "no broken promise in this one schedule of 2 workers"


def test_a_failure_says_what_broke_and_how_little_it_takes():
    seen = Coverage(2, 57, 1, complete=True)
    assert verdict(RACY, seen) == "FAIL  run j0 done 2 times (by B, A)   6 steps, 1 forced switch"
    assert effort(FAULTS) == "6 steps, 1 crash, 1 lost reply, 1 jump of time"
    assert effort(AT_ONCE) == "0 steps, no forced switch"


def test_time_that_passes_because_all_wait_is_nobodys_bad_luck():
    waited = Failure("p", "w", schedule="AB", steps=(Step(Kind.JUMP, "", "5 s"), Step(Kind.EFFECT, "A", "x")), forced=1)
    assert effort(waited) == "2 steps, 1 forced switch"


@pytest.mark.parametrize(
    ("coverage", "simplest"),
    [
        (Coverage(2, 57, 1, complete=True), True),
        (Coverage(2, 57, None, complete=True), True),
        (Coverage(2, 57, 1, complete=False), True),  # the bound of the failure was completed
        (Coverage(2, 57, 0, complete=False), False),
        (Coverage(2, 57, -1, complete=False), False),
        (Coverage(2, 57, None, complete=False), False),
        (Coverage(2, 57, 9, complete=False, random=True), False),
    ],
)
def test_only_a_search_that_was_completed_calls_a_failure_the_simplest(coverage, simplest):
    said = found(RACY, coverage)
    assert said.startswith("57 schedules of 2 workers run; ")
    assert ("this is the simplest" in said, "a simpler one may fail too" in said) == (simplest, not simplest)


def test_what_was_not_tried_is_named():
    assert covered(Coverage(2, 9, 1, complete=True)) == "Not tried: crashes, lost replies, jumps of time."
    tried = Coverage(2, 9, 1, complete=True, crashes=1, jumps=1, longest=1)
    assert covered(tried) == "The longest schedule has 1 step. Not tried: lost replies."
    assert covered(Coverage(2, 9, 1, complete=True, crashes=1, jumps=1, lost_replies=1)) == ""
    for what in ("partitions", "several servers", "more workers", "passes while a worker can go on", "MULTI/EXEC"):
        assert what in NOT_MODELLED


@given(coverage=coverages)
def test_no_verdict_claims_that_a_program_is_right(coverage):
    said = f"{verdict(None, coverage)} {covered(coverage)} {NOT_MODELLED}".lower()
    assert not any(word in said for word in ("correct", "proven", "proof", "safe", "bug"))
    assert ("all schedules" in said) <= (coverage.complete and not coverage.random)
    assert f"{coverage.schedules:,}" in said or coverage.schedules == 1
    assert f"{coverage.workers} worker" in said


@given(failure=failures(most=5), coverage=coverages)
def test_a_failure_is_never_hidden(failure, coverage):
    said = verdict(failure, coverage)
    assert said.startswith("FAIL  ")
    assert said.isprintable()
    assert "no failing schedule" not in said.removeprefix(f"FAIL  {failure.what}")
