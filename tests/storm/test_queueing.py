"""The queue with a timeout: exact against events, and the formulas that it must meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.storm_queue import QueueOracle

import jobkit as jk
from jobkit.errors import ConfigError
from jobkit.storm import guards, lindley
from jobkit.storm.guards import Breaker, Budget, Guards
from jobkit.storm.lindley import Server
from jobkit.storm.queueing import coin_flip, metastable

MANY = settings(max_examples=150, deadline=None)
servers = st.builds(Server, st.integers(1, 30), st.integers(0, 500), st.integers(0, 300))

budgets = st.builds(
    Budget, st.sampled_from([0.1, 0.5, 1]), per=st.sampled_from(["request", "success"]), size=st.integers(0, 5)
)


def requests(seed, coarse, retries, most_wait):
    """A few arrivals, on a coarse grid if ties are wanted."""
    rng = np.random.default_rng(seed)
    fresh = np.sort(rng.integers(0, 1000, size=rng.integers(1, 60)) // coarse * coarse)
    return fresh, rng.integers(0, most_wait + 1, size=(retries, len(fresh)))


def as_dicts(calls):
    keys = list(zip(calls.request.tolist(), calls.attempt.tolist(), strict=True))
    at = dict(zip(keys, calls.at.tolist(), strict=True))
    return at, {key: done for key, done in zip(keys, calls.done.tolist(), strict=True) if done >= 0}


@MANY
@given(
    servers,
    st.integers(0, 10_000),
    st.sampled_from([1, 7, 50]),
    st.integers(0, 3),
    st.sampled_from([0, 40, 400]),
    st.integers(1, 200),
)
def test_lindley_as_events(server, seed, coarse, retries, most_wait, timeout):
    fresh, waits = requests(seed, coarse, retries, most_wait)
    expected = QueueOracle(fresh.tolist(), waits.tolist(), server, timeout, 1500).run()
    assert as_dicts(lindley.play(fresh, waits, server, timeout, 1500)) == expected
    guarded, rejected = guards.play(fresh, waits, server, timeout, 1500, guards=Guards())
    assert as_dicts(guarded) == expected
    assert not len(rejected)


@MANY
@given(
    servers, st.integers(0, 10_000), st.sampled_from([1, 7]), st.integers(1, 200),
    st.none() | budgets,
    st.none() | st.integers(1, 150),
)  # fmt: skip
def test_guards_as_events(server, seed, coarse, timeout, budget, shed):
    fresh, waits = requests(seed, coarse, 2, 40)
    expected = QueueOracle(fresh.tolist(), waits.tolist(), server, timeout, 1500, budget=budget, shed=shed).run()
    calls, _ = guards.play(fresh, waits, server, timeout, 1500, guards=Guards(budget, None, shed))
    assert as_dicts(calls) == expected


def runs(n=20, **setting):
    return [metastable(seed=seed, **setting) for seed in range(n)]


def test_without_retries_the_backlog_drains_at_what_capacity_is_left():
    done = runs(60)
    for figure, formula in (("empty_after_s", 280 * 10 / 20), ("back_after_s", (280 * 10 - 300) / 20)):
        seconds = np.array([getattr(run, figure) for run in done])
        assert abs(seconds.mean() - formula) < 4 * seconds.std(ddof=1) / len(seconds) ** 0.5


@pytest.mark.parametrize(("outage", "recovers"), [(0.3, True), (1.0, True), (2.0, False)])
def test_one_retry_keeps_it_down_for_good_after_a_longer_outage(outage, recovers):
    done = runs(rate=200, retries=1, capacity=300, timeout=1, outage=outage)
    assert {run.recovered for run in done} == {recovers}
    assert recovers or max(run.goodput()[-60:-5].max() for run in done) == 0


@pytest.mark.parametrize(("rate", "retries"), [(140, 1), (90, 2)])
def test_retries_that_fit_the_capacity_do_no_harm(rate, retries):
    assert all(run.recovered for run in runs(5, rate=rate, retries=retries, outage=5))


def test_a_budget_earned_per_request_recovers_if_rate_and_budget_fit():
    done = runs(20, rate=250, retries=1, budget=Budget(0.1, per="request", size=10), after=130)
    assert all(run.recovered for run in done)
    # Retries begin one timeout into the outage; the bucket was full. It lies between 85 and 100 s.
    formula = (250 * 10 + 0.1 * 250 * 9 + 10 - 300) / (300 - 1.1 * 250)
    seconds = np.array([run.back_after_s for run in done])
    assert 85 < formula < 100
    assert abs(seconds.mean() - formula) < 4 * seconds.std(ddof=1) / len(seconds) ** 0.5


@pytest.mark.parametrize(("per", "recovers"), [("request", False), ("success", True)])
def test_past_that_a_budget_must_be_earned_per_success_which_dries_up(per, recovers):
    done = runs(4, rate=280, retries=1, budget=Budget(0.1, per=per, size=10), after=160)
    assert {run.recovered for run in done} == {recovers}
    assert not recovers or max(run.amplification for run in done) < 1.05


@pytest.mark.parametrize("guard", [{"breaker": Breaker(50, cooldown=5)}, {"shed": 0.5}])
def test_a_breaker_and_shedding_end_what_retries_keep_up(guard):
    assert all(run.recovered for run in runs(10, rate=200, retries=1, outage=2, after=60, **guard))


def test_what_a_breaker_does():
    run = metastable(rate=200, retries=1, outage=30, before=5, after=20, breaker=Breaker(50, cooldown=5))
    at = run.calls.at / 1e9
    during = at[(at > 5) & (at < 35)]
    # 50 timeouts in a row open it 1 s and a little after the outage began; then one probe per 5 s and its timeout.
    assert 200 < len(during) < 300
    assert np.count_nonzero(during > 7) == 4
    assert len(run.rejected) > 25 * 200 * 0.9
    assert run.recovered


def test_the_state_of_the_queue_against_m_d_1():
    run = metastable(rate=240, outage=0, before=0, after=3000)
    wait = (run.calls.done - run.calls.at) / 1e9 - 1 / 300
    assert abs(wait.mean() - 0.8 / (2 * 0.2) / 300) < 0.0003


def test_bins_are_counted_from_the_end_of_the_outage():
    run = metastable(rate=100, outage=2, before=3, after=10)
    assert run.starts().tolist() == list(range(-5, 10))
    assert len(run.load(0.5)) == 30
    assert run.load().sum() == len(run.calls.at)
    assert run.goodput(0.25).sum() * 0.25 == run.answered.sum()
    assert "goodput is back after" in repr(run)


@pytest.mark.parametrize("p", [0, 0.3, 0.9, 1])
@pytest.mark.parametrize("retries", [0, 1, 4])
def test_a_coin_flip_downstream(p, retries):
    fails = np.random.default_rng(1).random((200_000, retries + 1)) < p
    calls = 1 + np.cumprod(fails[:, :retries], axis=1).sum(axis=1)
    expected = coin_flip(p, retries)
    assert abs(calls.mean() - expected) <= 4 * calls.std() / 200_000**0.5
    assert expected == pytest.approx(retries + 1 if p == 1 else (1 - p ** (retries + 1)) / (1 - p))


def test_seeds_and_a_policy():
    first, again, other = (
        metastable(rate=50, retries=2, outage=2, policy=jk.Exponential(1), after=20, seed=s) for s in (1, 1, 2)
    )
    assert first.calls.at.tolist() == again.calls.at.tolist() != other.calls.at.tolist()
    assert len(set(first.calls.attempt.tolist())) == 3


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"rate": 0}, "rate must be a number above 0"),
        ({"capacity": float("inf")}, "capacity must be a number of at least 0.001"),
        ({"timeout": 0}, "timeout must be at least 0.001 s, got 0"),
        ({"retries": -1}, "retries must be a whole number from 0 to 100, got -1"),
        ({"outage": "long"}, "outage must be a number of seconds"),
        ({"budget": 0.1}, "budget must be a jobkit.storm.Budget, got 0.1"),
        ({"breaker": True}, "breaker must be a jobkit.storm.Breaker, got True"),
        ({"shed": 0}, "shed must be at least 0.001 s"),
        ({"policy": 3}, "a policy has a method"),
        ({"seed": None}, "seed must be a whole number"),
    ],
)
def test_bad_input(setting, says):
    with pytest.raises(ConfigError) as caught:
        metastable(**setting)
    assert says in str(caught.value)


@pytest.mark.parametrize("wrong", [{"ratio": -1}, {"per": "minute"}, {"size": float("nan")}])
def test_a_wrong_budget(wrong):
    with pytest.raises(ConfigError, match="budget"):
        Budget(**wrong)
