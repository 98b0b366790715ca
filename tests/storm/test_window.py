"""The vectorised limiter decides as a heap of single calls does, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.storm_heap import heap_pool, heap_storm

import jobkit as jk
from jobkit.errors import ConfigError
from jobkit.storm.draw import retry_times
from jobkit.storm.pool import Pool, serve_by
from jobkit.storm.window import Downstream, serve

JITTERS = [jk.none, jk.proportional(0.2), jk.equal, jk.full, jk.additive(0.5)]
SHAPES = [
    lambda jitter, ms: jk.Table(*(s * ms / 1000 for s in (5, 30, 300)), jitter=jitter),
    lambda jitter, ms: jk.Table(0, ms / 1000, jitter=jitter),
    lambda jitter, ms: jk.Exponential(ms / 1000, cap=64 * ms / 1000, jitter=jitter),
    lambda jitter, ms: jk.Exponential.aws(ms / 1000, cap=16 * ms / 1000, jitter=jitter),
    lambda jitter, ms: jk.Decorrelated(ms / 1000, cap=50 * ms / 1000),
]
policies = st.builds(
    lambda shape, jitter, ms: shape(jitter, ms),
    st.sampled_from(SHAPES),
    st.sampled_from(JITTERS),
    st.sampled_from([1, 7, 100]),
)
downstreams = st.builds(
    lambda outage, window, per_window, k, down: Downstream(
        outage, window, per_window, k and int(k * per_window), down if k else 0
    ),
    st.integers(0, 400),
    st.sampled_from([1, 3, 50, 1000]),
    st.integers(1, 12),
    st.sampled_from([None, 1, 1.5, 3]),
    st.sampled_from([1, 60, 500]),
)
MANY = settings(max_examples=200, deadline=None)


class Given:
    """A policy whose waits are written out: (jobs, retries)."""

    def __init__(self, waits):
        self.waits = np.array(waits)

    def delays(self, attempts, _rng):
        return self.waits[:, int(attempts[0]) - 1]


def through(pool, downstream, waits, poll):
    jobs, retries = waits.shape
    rng = np.random.default_rng(0)
    return serve_by(pool, downstream, Given(waits), jobs=jobs, retries=retries, rng=rng, poll_ms=poll)


def drawn(policy, jobs, retries, seed):
    """The waits of each job as a list, as the simulator draws them."""
    times = retry_times(policy, jobs, retries, np.random.default_rng(seed))
    return np.diff(times.astype(np.int64), axis=0, prepend=0).T


@MANY
@given(
    policies, st.integers(1, 40), st.integers(1, 6), downstreams, st.sampled_from([0, 0, 2, 250]), st.integers(0, 99)
)
def test_as_a_heap(policy, jobs, retries, downstream, poll, seed):
    waits = drawn(policy, jobs, retries, seed)
    times = retry_times(Given(waits), jobs, retries, np.random.default_rng(0), poll)
    served, knocked = serve(times, downstream)
    assert (served.tolist(), knocked) == heap_storm(waits.tolist(), downstream, poll)


@MANY
@given(
    policies, st.integers(1, 30), st.integers(1, 5), downstreams, st.sampled_from([0, 0, 2, 250]), st.integers(0, 99),
    st.integers(1, 9), st.integers(1, 300),
)  # fmt: skip
def test_a_pool_as_a_heap(policy, jobs, retries, downstream, poll, seed, workers, service):
    waits = drawn(policy, jobs, retries, seed)
    if downstream.limit is not None:
        service = max(service, downstream.window_ms)
    pool = Pool(workers, service)
    times, served, knocked = through(pool, downstream, waits, poll)
    expected, starts, falls = heap_pool(waits.tolist(), downstream, pool, poll)
    assert (served.tolist(), knocked) == (expected, falls)
    assert {(j, k + 1): times[k, j] for k, j in np.argwhere(times >= 0)} == starts


@settings(MANY, max_examples=40)
@given(
    policies,
    st.integers(1, 25),
    st.integers(1, 4),
    downstreams,
    st.sampled_from([0, 250]),
    st.sampled_from([None, Pool(3, 40)]),
)
def test_as_simpy(policy, jobs, retries, downstream, poll, pool):
    simpy = pytest.importorskip("support.storm_simpy", exc_type=ImportError)
    downstream = downstream._replace(limit=None)
    waits = drawn(policy, jobs, retries, 5)
    rng = np.random.default_rng(0)
    expected, _ = simpy.SimpyStorm(waits.tolist(), downstream, pool, poll).run()
    if pool:
        served = through(pool, downstream, waits, poll)[1]
    else:
        served = serve(retry_times(Given(waits), jobs, retries, rng, poll), downstream)[0]
    assert served.tolist() == expected


@pytest.mark.parametrize("horizon", [65_534, 65_535, 65_536, 65_537, 200_000])
def test_window_numbers_of_16_bits_and_of_32(horizon):
    waits = np.array([[5, horizon - 5]] * 7 + [[5, 2]] * 3)  # windows of 1 ms: the last one's number is the horizon
    downstream = Downstream(1, 1, 2)
    served, _ = serve(np.cumsum(waits, axis=1).T, downstream)
    assert served.tolist() == heap_storm(waits.tolist(), downstream)[0]
    assert sorted(served.tolist()) == [0] * 4 + [1] * 2 + [2] * 4


def test_ties_go_to_the_first_jobs():
    served, _ = serve(np.full((1, 5), 1000), Downstream(1000, 1000, 3))
    assert served.tolist() == [1, 1, 1, 0, 0]


def test_more_jobs_than_a_block():
    waits = drawn(jk.Table(5, 30, jitter=jk.full), 70_000, 2, 1)
    downstream = Downstream(3000, 1000, 2500, 6000, 2000)
    served, knocked = serve(np.cumsum(waits, axis=1).T, downstream)
    assert (served.tolist(), knocked) == heap_storm(waits.tolist(), downstream)


def test_long_waits_do_not_overflow():
    waits = drawn(jk.Table(3_000_000, 200_000_000, jitter=jk.full), 50, 2, 1)
    downstream = Downstream(2_000_000_000, 1_000_000, 1)
    served, _ = serve(retry_times(Given(waits), 50, 2, np.random.default_rng(0)), downstream)
    assert served.tolist() == heap_storm(waits.tolist(), downstream)[0]


def test_too_many_windows_are_refused():
    with pytest.raises(ConfigError, match="window must be at least"):
        serve(np.full((1, 1), 10**12), Downstream(0, 1, 1))
