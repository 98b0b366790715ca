"""The contention model: against messages played one by one, the published means, and mutants of itself."""

import heapq

import numpy as np
import pytest

import jobkit as jk
from jobkit.errors import ConfigError
from jobkit.storm import contention
from jobkit.storm.contention import occ, strategies

PUBLISHED = {  # the means of 100 runs of the published simulator: time in ms, calls
    100: {
        "none": (2_030, 2_420),
        "exponential": (63_086, 1_847),
        "equal": (6_602, 811),
        "full": (4_876, 796),
        "decorrelated": (4_608, 1_005),
    },
    10: {
        "none": (383, 51.1),
        "exponential": (3_503, 51.0),
        "equal": (692, 42.1),
        "full": (457, 38.7),
        "decorrelated": (443, 37.7),
    },
}
SWEEP = range(10, 200, 10)


def wait_ms(name, failures, last, rng, base=5, cap=2000):
    """The formulas once more, in plain words."""
    v = min(cap, base * 2**failures)
    return {
        "none": lambda: 0,
        "exponential": lambda: v,
        "equal": lambda: v / 2 + rng.uniform(0, v / 2),
        "full": lambda: rng.uniform(0, v),
        "decorrelated": lambda: min(cap, rng.uniform(base, 3 * last)),
    }[name]()


def message_by_message(name, clients, rng):
    """One run, event by event: the server's version, and who read which."""
    version, calls, done = 0, 0, []

    def message():
        return abs(rng.normal(10, 2))

    events = [(message(), client, "read", 0) for client in range(clients)]
    heapq.heapify(events)
    failures, last = [0] * clients, [5.0] * clients
    while events:
        now, client, kind, seen = heapq.heappop(events)
        if kind == "read":
            heapq.heappush(events, (now + message() + message(), client, "write", version))
            continue
        calls += 1
        reply = now + message()
        if seen == version:
            version += 1
            done.append(reply)
            continue
        failures[client] += 1
        last[client] = wait_ms(name, failures[client], last[client], rng)
        heapq.heappush(events, (reply + last[client] + message(), client, "read", None))
    return max(done), calls


def z(a, b):
    return (a.mean() - b.mean()) / np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))


@pytest.mark.parametrize("name", strategies())
@pytest.mark.parametrize("clients", [1, 2, 12])
def test_as_messages_one_by_one(name, clients):
    rng = np.random.default_rng(1)
    time, calls = np.array([message_by_message(name, clients, rng) for _ in range(300)]).T
    here = occ(strategies()[name], clients, runs=4000, seed=2)
    assert abs(z(time, here.time_ms)) < 4
    assert calls.std() == 0 == here.calls.std() or abs(z(calls, here.calls)) < 4


@pytest.mark.parametrize("clients", PUBLISHED)
@pytest.mark.parametrize("name", strategies())
def test_the_published_means(name, clients):
    here = occ(strategies()[name], clients, runs=500, seed=3)
    for figure, published in zip((here.time_ms, here.calls), PUBLISHED[clients][name], strict=True):
        error = figure.std(ddof=1) * np.sqrt(1 / 100 + 1 / 500)  # theirs is a mean of 100 runs of the same spread
        assert abs(figure.mean() - published) < 4 * error


def agrees(ours, theirs):
    """The rule: each mean within 4 standard errors, and the sum of z over N within 4 sqrt(number of Ns)."""
    each = np.array([z(a, b) for a, b in zip(ours, theirs, strict=True)])
    return bool(np.all(np.abs(each) < 4) and abs(each.sum()) < 4 * len(each) ** 0.5)


def sweep(policy, seed, fewer=0):
    return [occ(policy, n - fewer, runs=100, seed=seed + n) for n in SWEEP]


def figures(runs, figure):
    return [getattr(run, figure) for run in runs]


@pytest.mark.parametrize("name", strategies())
def test_the_rule_of_agreement_lets_the_model_pass(name):
    ours, theirs = (sweep(strategies()[name], seed) for seed in (1_000, 2_000))
    for figure in ("time_ms", "calls"):
        assert agrees(figures(ours, figure), figures(theirs, figure))


MUTANTS = {
    "the first ceiling is 5": ("full", jk.Exponential(0.005, cap=2), "calls", 0),
    "time ends when the write arrives": ("none", None, "last_write_ms", 0),
    "cap 1000": ("exponential", strategies(cap=1)["exponential"], "time_ms", 0),
    "one client is missing": ("none", None, "calls", 1),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_the_rule_of_agreement_catches(mutant):
    name, policy, figure, fewer = MUTANTS[mutant]
    right = figures(sweep(strategies()[name], 1_000), "time_ms" if figure == "last_write_ms" else figure)
    assert not agrees(figures(sweep(policy or strategies()[name], 2_000, fewer), figure), right)


def test_calls_without_a_wait_grow_as_the_power_1_84():
    many = [n for n in SWEEP if n >= 50]
    calls = [occ(strategies()["none"], n, runs=100, seed=n).calls.mean() for n in many]
    assert abs(np.polyfit(np.log(many), np.log(calls), 1)[0] - 1.84) < 0.02
    assert calls[-1] < 0.5 * 190**2


def test_batches_change_nothing_but_the_draws(monkeypatch):
    whole = occ(strategies()["full"], 5, runs=3000, seed=1)
    monkeypatch.setattr(contention, "CLIENTS_AT_ONCE", 12)
    parts = occ(strategies()["full"], 5, runs=3000, seed=2)
    assert len(parts.calls) == 3000
    assert abs(z(whole.time_ms, parts.time_ms)) < 4


def test_seeds():
    first, again, other = (occ(jk.Exponential.aws(), 7, runs=5, seed=s).time_ms.tolist() for s in (1, 1, 2))
    assert first == again != other


def test_a_policy_of_ones_own():
    class Fixed:
        def delay(self, attempt, rng):
            return self.delays(np.array([attempt]), rng)[0]

        def delays(self, attempts, _rng):
            return 100 * attempts

    assert occ(Fixed(), 3, runs=50).time_ms.min() > 100


@pytest.mark.parametrize("setting", [{"clients": 0}, {"runs": 0}, {"seed": "x"}, {"policy": "full"}])
def test_bad_input(setting):
    with pytest.raises(ConfigError, match=r"must be|has a method"):
        occ(**{"policy": jk.Exponential.aws()} | setting)
