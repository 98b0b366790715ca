"""The figures that the simulator must meet, each a mean over seeds or exact."""

import numpy as np
import pytest

import jobkit as jk
from jobkit.storm import compare, storm

SEEDS = range(20)
JITTERS = {"none": jk.none, "20 %": jk.proportional(0.2), "equal": jk.equal, "full": jk.full}


def table(jitter):
    return jk.Table(5, 30, 300, 3600, jitter=JITTERS[jitter])


def runs(jitter, **setting):
    return [storm(table(jitter), **{"outage": 30, "capacity": 100, "poll": 0} | setting, seed=seed) for seed in SEEDS]


@pytest.mark.parametrize(("window", "dead"), [(1, 9_700), (5, 8_500)])
def test_without_jitter_each_wave_saves_one_window(window, dead):
    assert storm(table("none"), outage=30, capacity=100, poll=0, window=window).dead == dead


@pytest.mark.parametrize(
    ("jitter", "peaks"),
    [
        ("none", [10_000] * 4),
        ("20 %", [5_038, 879, 107, 17]),
        ("equal", [4_036, 709, 89, 15]),
        ("full", [2_050, 368, 51, 10]),
    ],
)
def test_peaks_of_the_waves_when_every_retry_fails(jitter, peaks):
    waves = np.array([[run.arrivals(1, retry=k).max() for k in (1, 2, 3, 4)] for run in runs(jitter, outage=10_000)])
    error = waves.std(axis=0, ddof=1) / len(waves) ** 0.5
    # The stated means have an error of their own, and are rounded: as many runs behind them as here.
    assert np.all(np.abs(waves.mean(axis=0) - peaks) <= 4 * 2**0.5 * error + 1)


@pytest.mark.parametrize(("jitter", "falls", "dead"), [("none", 3, 10_000), ("20 %", 1, 0), ("full", 1, 8)])
def test_a_collapse(jitter, falls, dead):
    done = runs(jitter, collapse=(2, 30))
    assert {len(run.knocked_ms) for run in done} == {falls}
    # Dead are those whose four waits add up to less than an hour by far: Poisson, so the mean's error is known.
    assert abs(np.mean([run.dead for run in done]) - dead) <= 4 * (dead if dead == 8 else 0) ** 0.5 / len(done) ** 0.5


@pytest.mark.parametrize("jitter", JITTERS)
def test_workers_that_are_few_make_no_storm(jitter):
    run = storm(table(jitter), outage=30, capacity=100, poll=0, workers=116, service=2, collapse=(2, 30))
    assert (run.summary().peak, run.dead, run.summary().knocked_over) == (58, 0, 0)
    edges = np.sort(run.calls_ms())
    for span in (1, 2, 10):  # s
        most = max(np.searchsorted(edges, edges + span * 1000, side="left") - np.arange(len(edges)))
        assert most <= span * 58 + 1


def test_full_jitter_has_the_lowest_peak_and_the_worst_tail():
    rows = {name: [run.summary() for run in runs(name)] for name in ("20 %", "full")}
    mean = {name: np.mean([row.p99_s for row in of]) for name, of in rows.items()}
    assert abs(mean["20 %"] - 395) < 2
    assert abs(mean["full"] - 2_871) < 100  # one setting, one seed: the p99 of few late jobs
    assert max(row.peak for row in rows["full"]) < min(row.peak for row in rows["20 %"])


def test_a_bin_as_wide_as_the_base_makes_full_jitter_look_worse_than_none():
    every_retry_fails = {"outage": 10_000, "poll": 0}
    full = [storm(jk.Exponential(1), seed=seed, **every_retry_fails).arrivals(1).max() for seed in SEEDS]
    none = storm(jk.Exponential(1, jitter=jk.none), **every_retry_fails)
    assert abs(np.mean(full) - 12_702) < 4 * 46  # one run of theirs; binomial, sd 46
    assert none.arrivals(1).max() == 10_000
    fine = storm(jk.Exponential(1), **every_retry_fails).arrivals(0.05).max()
    assert fine < 2_000 < none.arrivals(0.05).max()


def test_jitter_narrower_than_the_poll_does_nothing():
    narrow = jk.Table(5, jitter=jk.proportional(0.1))
    alone, polled = (storm(narrow, retries=1, poll=poll, outage=0) for poll in (0, 2))
    assert alone.arrivals(1).max() < 5_500
    assert polled.calls_ms().min() == polled.calls_ms().max() == 6_000


@pytest.mark.parametrize(("spread", "peak", "share"), [(100, 125, 0), (150, None, 0.995)])
def test_the_spread_must_be_wider_than_jobs_over_capacity(spread, peak, share):
    policy = jk.Table(spread, jitter=jk.full)
    peaks = [storm(policy, retries=1, outage=0, poll=0, seed=seed).arrivals(1).max() for seed in range(400)]
    if peak:
        assert abs(np.mean(peaks) - peak) < 1
    assert abs(np.mean(np.array(peaks) <= 100) - share) <= 4 * (0.005 * 0.995 / 400) ** 0.5 * (share > 0)


def test_twenty_percent_leaves_four_clusters():
    counts = storm(table("20 %"), outage=10_000, poll=0).arrivals(1)
    filled = np.flatnonzero(counts)
    assert np.count_nonzero(np.diff(filled) > 10) + 1 >= 4


def test_the_readings_of_the_default_setting():
    rows = compare({name: table(name) for name in JITTERS}).rows
    assert [row.name for row in rows] == list(JITTERS)
    assert rows[0].peak == 10_000 > rows[1].peak > rows[2].peak > rows[3].peak
