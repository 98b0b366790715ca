"""The capacity calculator: the interview problem's figures, Little's law, Erlang C."""

import heapq
import math

import numpy as np
import pytest

import jobkit as jk
from jobkit.errors import ConfigError
from jobkit.storm import capacity, erlang_c, storm, workers_for


def m_m_c(servers, rate, mean_service, jobs, seed):
    """Waiting times and times inside of an M/M/c queue, first come first served."""
    rng = np.random.default_rng(seed)
    at = np.cumsum(rng.exponential(1 / rate, jobs))
    service = rng.exponential(mean_service, jobs)
    free = [0.0] * servers
    waits = np.empty(jobs)
    for n in range(jobs):
        begin = max(at[n], free[0])
        heapq.heapreplace(free, begin + service[n])
        waits[n] = begin - at[n]
    return at, waits, waits + service


def test_the_figures_of_the_interview_problem():
    plan = capacity(500_000, service=2, peak=10, retries=4)
    assert round(plan.per_s, 1) == 5.8
    assert round(plan.peak_per_s) == 58
    assert round(plan.burst_per_s) == 1_667
    assert plan.worst_runs_per_day == 2_500_000
    assert plan.horizon_s == 3_935
    assert round(plan.parked, -2) == 22_800
    assert plan.memory_mb == 450
    assert (math.ceil(plan.busy), math.ceil(plan.busy_peak)) == (12, 116)
    assert (plan.workers, plan.workers_peak) == (16, 128)
    assert round(plan.burst_takes_s / 60) == 29


@pytest.mark.parametrize(("servers", "load"), [(1, 0.8), (3, 2.4), (16, 11.574), (40, 35)])
def test_erlang_c_and_littles_law_against_a_simulated_m_m_c(servers, load):
    chances, waits, ratios = [], [], []
    for seed in range(12):
        at, wait, inside = m_m_c(servers, load, 1.0, 40_000, seed)
        chances.append((wait > 0).mean())
        waits.append(wait.mean())
        held = (np.minimum(at + inside, at[-1]) - at).sum() / at[-1]  # jobs inside, as a mean over time
        ratios.append(held / (load * inside.mean()))
    chance = erlang_c(servers, load)
    for seen, expected in ((chances, chance), (waits, chance / (servers - load)), (ratios, 1)):
        assert abs(np.mean(seen) - expected) < 4 * np.std(seen, ddof=1) / 12**0.5 + 1e-3 * expected


@pytest.mark.parametrize(("servers", "load", "chance"), [(1, 0.5, 0.5), (2, 1, 1 / 3), (3, 2, 4 / 9), (5, 4, 0.5541)])
def test_erlang_c_by_the_book(servers, load, chance):
    assert erlang_c(servers, load) == pytest.approx(chance, abs=1e-4)


def test_erlang_c_at_its_ends():
    assert erlang_c(4, 0) == 0
    assert erlang_c(4, 4) == erlang_c(4, 9) == 1
    assert 0 < erlang_c(100_000, 99_900) < 1


@pytest.mark.parametrize("load", [0, 0.3, 11.574, 115.74, 999.5])
def test_workers_for_is_the_fewest(load):
    few = workers_for(load, 0.2)
    assert erlang_c(few, load) <= 0.2
    assert few == 1 or few - 1 <= load or erlang_c(few - 1, load) > 0.2


def test_failures_cost_runs():
    plan = capacity(failure=0.5, retries=1)
    assert plan.runs_per_job == 1.5
    assert plan.busy == pytest.approx(1.5 * capacity().busy)
    assert capacity(failure=1).runs_per_job == 5


def test_what_is_parked_is_what_the_simulator_parks():
    """If every run fails, each job is parked from its first failure to its last retry: Little's W."""
    policy = jk.Table(5, 30, 300, 3600, jitter=jk.proportional(0.2))
    last = storm(policy, jobs=20_000, outage=100_000, poll=0).times[-1] / 1000
    assert capacity(policy=policy).horizon_s == pytest.approx(last.mean(), rel=0.01)


def test_late_at_the_peak_against_a_simulated_m_m_c():
    plan = capacity()
    late = [np.quantile(m_m_c(plan.workers_peak, plan.peak_per_s, 2.0, 60_000, seed)[1], 0.99) for seed in range(8)]
    assert abs(np.mean(late) - plan.late_p99_s) < 4 * np.std(late, ddof=1) / 8**0.5


def test_it_reads_as_a_table():
    assert "128  Erlang C: at most 20% of the jobs wait" in repr(capacity())
    assert capacity()._repr_html_().count("<tr>") == len(capacity().rows()) + 1


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"jobs_per_day": 0}, "jobs_per_day must be a whole number"),
        ({"service": 0}, "service must be at least 0.001 s"),
        ({"peak": 0.5}, "peak must be a number of at least 1, got 0.5"),
        ({"failure": 1.5}, "failure must be a number of at least 0 and at most 1, got 1.5"),
        ({"burst": 0.2}, "burst is a pair"),
        ({"wait": 0}, "wait must be a number above 0 and at most 1, got 0"),
        ({"bytes_per_job": None}, "bytes_per_job must be a number"),
    ],
)
def test_bad_input(setting, says):
    with pytest.raises(ConfigError) as caught:
        capacity(**setting)
    assert says in str(caught.value)
