"""The sequences that the documents give, each by its named constructor, and the peaks of their jitters."""

import random

import pytest

from jobkit.backoff import Decorrelated, Exponential, Table, additive, equal, full, none, proportional


class Chance:
    """A random source that always says the same."""

    def __init__(self, u):
        self.u = u

    def random(self, shape=None):
        if shape is None:
            return self.u
        np = pytest.importorskip("numpy")
        return np.full(shape, self.u)


ALMOST_ONE = 1 - 2**-40
SEQUENCES = {
    "A: 5 s, 30 s, 5 min, 1 h": (Table(5, 30, 300, 3600), [5, 30, 300, 3600, 3600, 3600]),
    "A7: base x 2^attempts, counted before": (
        Exponential.counting_attempts(5),
        [10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600],
    ),
    "B5: min(base x 2^n, cap)": (Exponential.counting_retries(), [2, 4, 8, 16, 32, 60, 60, 60]),
    "C7: 2^attempt s, without its extra": (Exponential.plus_up_to(0), [2, 4, 8, 16, 32, 64, 128, 256]),
    "AWS: 5 ms, cap 2 s": (
        Exponential.aws(jitter=none),
        [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2, 2],
    ),
    "the default": (Exponential(jitter=none), [2**n for n in range(12)] + [3600, 3600]),
    "factor 1: always the same": (Exponential(7, factor=1, jitter=none), [7] * 5),
    "factor 10": (Exponential(0.001, factor=10, cap=5, jitter=none), [0.001, 0.01, 0.1, 1, 5, 5]),
    "a cap that is the base": (Exponential(3, cap=3, jitter=none), [3, 3, 3]),
    "a table of one": (Table(0.5), [0.5, 0.5]),
    "a table that goes down": (Table(9, 0, 3), [9, 0, 3, 3]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(name):
    policy, seconds = SEQUENCES[name]
    waits = [policy.delay(attempt, random.Random(1)) for attempt in range(1, len(seconds) + 1)]
    assert waits == [round(1000 * s) for s in seconds]


def test_c7_adds_up_to_half_a_second():
    policy = Exponential.plus_up_to(0.5)
    assert [policy.delay(n, Chance(0.0)) for n in (1, 2, 3)] == [2000, 4000, 8000]
    assert [policy.delay(n, Chance(ALMOST_ONE)) for n in (1, 2, 3)] == [2499, 4499, 8499]


@pytest.mark.parametrize(
    ("jitter", "least", "middle", "most"),
    [
        (none, 5000, 5000, 5000),
        (full, 0, 2500, 4999),
        (equal, 2500, 3750, 4999),
        (proportional(0.2), 4000, 5000, 5999),
        (proportional(0), 5000, 5000, 5000),
        (proportional(1), 0, 5000, 9999),
        (additive(1), 5000, 5500, 5999),
        (additive(0), 5000, 5000, 5000),
    ],
)
def test_jitters_from_end_to_end(jitter, least, middle, most):
    policy = Table(5, jitter=jitter)
    assert [policy.delay(1, Chance(u)) for u in (0.0, 0.5, ALMOST_ONE)] == [least, middle, most]


def test_decorrelated_grows_by_three_at_most():
    policy = Decorrelated(1, cap=20)
    assert [policy.delay(n, Chance(0.0)) for n in (1, 2, 9)] == [1000, 1000, 1000]
    assert [policy.delay(n, Chance(ALMOST_ONE)) for n in (1, 2, 3, 4)] == [2999, 8999, 20000, 20000]
    assert [policy.delay(n, Chance(0.5)) for n in (1, 2, 3)] == [2000, 3500, 5750]


def test_the_cap_comes_first_and_the_jitter_last():
    """Else most long waits would be the cap exactly, and all would come back at one instant."""
    rng = random.Random(7)
    waits = [Exponential(1, cap=60, jitter=full).delay(20, rng) for _ in range(1000)]
    assert len(set(waits)) > 950
    waits = [Exponential(1, cap=60, jitter=proportional(0.2)).delay(20, rng) for _ in range(1000)]
    assert len(set(waits)) > 900
    assert max(waits) > 60_000


@pytest.mark.parametrize(("jitter", "mean"), [(full, 2500), (equal, 3750), (proportional(0.2), 5000), (none, 5000)])
def test_jitter_is_even(jitter, mean):
    rng = random.Random(11)
    policy = Table(5, jitter=jitter)
    waits = [policy.delay(1, rng) for _ in range(20_000)]
    assert sum(waits) / len(waits) == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (Table(5, 30, jitter=proportional(0.2)), "Table(5, 30, jitter=proportional(0.2))"),
        (Exponential(), "Exponential(1, factor=2, cap=3600, jitter=full)"),
        (Exponential.plus_up_to(cap=60), "Exponential(1, factor=2, cap=60, first_exponent=1, jitter=additive(0.5))"),
        (Decorrelated(), "Decorrelated(1, cap=3600)"),
    ],
)
def test_a_policy_says_what_it_is(policy, said):
    assert repr(policy) == said
