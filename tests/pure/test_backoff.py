"""Promises of every retry policy, whatever its settings: bounds, no overflow, one formula for one and for many."""

import math
import random
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.rubbish import NO_SECONDS

from jobkit.backoff import Decorrelated, Exponential, Table, additive, equal, full, none, proportional
from jobkit.clock import TEN_YEARS, new_rng
from jobkit.errors import BackoffError

seconds = st.integers(0, TEN_YEARS) | st.floats(0, 1e6).map(lambda s: round(s, 3))
jitters = st.one_of(
    st.sampled_from([none, full, equal]),
    st.floats(0, 1).map(proportional),
    st.floats(0, 10).map(additive),
)
attempts = st.integers(1, 1000) | st.integers(1, 2**62)


@st.composite
def exponentials(draw):
    base = draw(st.integers(1, 10**7)) / 1000
    cap = draw(st.floats(base, 10**8).map(lambda s: max(base, round(s, 3))))
    factor = draw(st.sampled_from([1, 1.5, 2, 3, 10, 1000]) | st.floats(1.01, 1000))
    return Exponential(base, cap=cap, factor=factor, jitter=draw(jitters), first_exponent=draw(st.integers(0, 3)))


@st.composite
def tables(draw):
    return Table(*draw(st.lists(seconds, min_size=1, max_size=6)), jitter=draw(jitters))


@st.composite
def decorrelated(draw):
    base = draw(st.integers(1, 10**6)) / 1000
    return Decorrelated(base, cap=draw(st.floats(base, 10**7).map(lambda s: max(base, round(s, 3)))))


schedules = exponentials() | tables()


class Stub:
    """A source of chance that gives one u: as random.Random to a scalar, as numpy's Generator to many."""

    def __init__(self, u):
        self.u = u

    def random(self, shape=None):
        return self.u if shape is None else np.full(shape, self.u)


units = st.floats(0, 1, exclude_max=True)


@given(policy=schedules | decorrelated(), attempt=st.integers(1, 1000), u=units)
@example(policy=Exponential(1, cap=TEN_YEARS), attempt=1000, u=0.999)
def test_one_and_many_by_one_formula(policy, attempt, u):
    one = policy.delay(attempt, Stub(u))
    many = policy.delays(np.array([attempt, 1, attempt]), Stub(u))
    assert many.dtype == np.int64
    assert many.tolist() == [one, policy.delay(1, Stub(u)), one]


@given(policy=schedules, attempt=attempts, u=units)
@example(policy=Exponential(1, jitter=none), attempt=33, u=0.5)
@example(policy=Exponential(1, jitter=none), attempt=54, u=0.5)
@example(policy=Exponential(1, jitter=none), attempt=1024, u=0.5)
@example(policy=Exponential(1.5, factor=1000, cap=TEN_YEARS, jitter=none), attempt=2**62, u=0.5)
def test_a_whole_number_of_ms_never_negative_never_too_long(policy, attempt, u):
    wait = policy.delay(attempt, Stub(u))
    assert type(wait) is int
    longest = max(policy._steps)
    assert 0 <= wait <= 2 * longest + 10_000
    if policy.jitter in {none, full, equal}:
        assert wait <= longest


@given(policy=exponentials(), attempt=st.integers(1, 10**6))
def test_the_schedule_never_shrinks_and_ends_at_its_cap(policy, attempt):
    policy.jitter = none
    assert policy.delay(attempt, Stub(0)) <= policy.delay(attempt + 1, Stub(0))
    assert all(math.isfinite(step) for step in policy._steps)


@given(st.integers(1, 10**4), st.sampled_from([1.5, 2, 3]), st.integers(10**4, 10**8), st.integers(1, 60))
def test_the_formula_is_the_one_in_the_docstring(base, factor, cap, n):
    policy = Exponential(base / 1000, factor=factor, cap=cap / 1000, jitter=none)
    assert policy.delay(n, Stub(0)) == int(min(cap, base * factor ** (n - 1)))


@given(policy=decorrelated(), attempt=st.integers(1, 200), seed=st.integers(0, 9))
def test_decorrelated_lies_between_base_and_cap(policy, attempt, seed):
    assert int(policy._base) <= policy.delay(attempt, random.Random(seed)) <= policy._cap


@given(policy=schedules | decorrelated(), seed=st.integers(), attempt=st.integers(1, 100))
def test_equal_seeds_give_equal_delays(policy, seed, attempt):
    one, other = random.Random(seed), random.Random(seed)
    assert [policy.delay(attempt, one) for _ in range(5)] == [policy.delay(attempt, other) for _ in range(5)]
    many = [policy.delays(np.array([attempt] * 5), np.random.default_rng(abs(seed))).tolist() for _ in range(2)]
    assert many[0] == many[1]


@pytest.mark.parametrize("policy", [Exponential(100), Decorrelated(100), Table(1000, jitter=equal)])
def test_unseeded_ones_differ(policy):
    runs = [tuple(policy.delay(4, new_rng()) for _ in range(4)) for _ in range(5)]
    assert len(set(runs)) == 5


@given(policy=schedules, shape=st.sampled_from([(0,), (3,), (2, 3), ()]))
def test_many_keep_their_shape(policy, shape):
    assert policy.delays(np.ones(shape, dtype=int), np.random.default_rng(1)).shape == shape


@given(attempt=st.integers(1, 30))
def test_many_are_independent_of_each_other(attempt):
    waits = Exponential(1000, cap=TEN_YEARS).delays(np.full(100, attempt), np.random.default_rng(3))
    assert len(set(waits.tolist())) > 90


# -- what cannot work -----------------------------------------------------------------------------

NEGATIVE = {"negative": -1, "negative float": -0.001, "negative timedelta": timedelta(seconds=-1)}


@pytest.mark.parametrize("name", NO_SECONDS | NEGATIVE)
@pytest.mark.parametrize(
    "make",
    [
        Table,
        lambda bad: Table(5, bad, 300),
        Exponential,
        lambda bad: Exponential(0.001, cap=bad),
        Exponential.counting_attempts,
        Exponential.counting_retries,
        Exponential.plus_up_to,
        Exponential.aws,
        lambda bad: Exponential.aws(cap=bad),
        Decorrelated,
        lambda bad: Decorrelated(cap=bad),
        additive,
    ],
)
def test_no_seconds(make, name):
    with pytest.raises(BackoffError):
        make((NO_SECONDS | NEGATIVE)[name])


@pytest.mark.parametrize(
    "make",
    [
        Table,
        lambda: Exponential(0),
        lambda: Exponential(0.0001),
        lambda: Exponential(10, cap=9),
        lambda: Decorrelated(0),
        lambda: Decorrelated(10, cap=9),
        lambda: Table(1, jitter=None),
        lambda: Table(1, jitter=0.2),
        lambda: Exponential(jitter="full"),
        lambda: Exponential(1, factor=1 + 1e-12),
    ],
)
def test_what_does_not_fit_together(make):
    with pytest.raises(BackoffError):
        make()


@pytest.mark.parametrize(
    "factor", [0, 0.5, -2, 1001, math.nan, math.inf, None, "2", True, 10**400], ids=lambda bad: f"{bad!r:.9}"
)
def test_factors(factor):
    with pytest.raises(BackoffError):
        Exponential(factor=factor)


@pytest.mark.parametrize(
    "fraction", [-0.1, 1.1, math.nan, math.inf, None, "0.2", True, 10**400], ids=lambda bad: f"{bad!r:.9}"
)
def test_fractions(fraction):
    with pytest.raises(BackoffError):
        proportional(fraction)


@pytest.mark.parametrize("first", [-1, -(10**6), 1.5, None, "1", math.nan])
def test_first_exponents(first):
    with pytest.raises(BackoffError):
        Exponential(first_exponent=first)


@pytest.mark.parametrize("policy", [Table(5), Exponential(), Decorrelated()])
@pytest.mark.parametrize("attempt", [0, -1])
def test_attempts_are_counted_from_one(policy, attempt):
    with pytest.raises(BackoffError, match="from 1"):
        policy.delay(attempt, random.Random(1))
    with pytest.raises(BackoffError, match="from 1"):
        policy.delays(np.array([1, attempt]), np.random.default_rng(1))
