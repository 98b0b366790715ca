"""The check of notebook 08: wrong answers fail with the right promise named, different right ones pass."""

import math

import pytest

from jobkit import Exponential, new_rng, proportional
from jobkit.cli import notebooks, store

CELLS = store.load(notebooks.FOLDER / "08_retry_with_backoff.py").cells
JITTER = "(0.8 + 0.4 * u)"
ANSWERS = {
    # right
    f"return round(min(600_000, 5000 * 2 ** min(failed - 1, 7)) * {JITTER})": "Passed",
    f"return round((600_000 if failed > 7 else 5000 << (failed - 1)) * {JITTER})": "Passed",
    f"return int(1000 * [5, 10, 20, 40, 80, 160, 320, 600][min(failed, 8) - 1] * {JITTER})": "Passed",
    "return Exponential(5, cap=600, jitter=proportional(0.2)).delay(failed, Dice(u))": "Passed",
    # document A: n counts the failed run already
    f"return round(min(600_000, 5000 * 2 ** min(failed, 7)) * {JITTER})": "the first wait is the base",
    # seconds, or no whole number
    f"return round(min(600, 5 * 2 ** min(failed - 1, 7)) * {JITTER})": "milliseconds, please, not seconds",
    f"return min(600_000, 5000 * 2 ** min(failed - 1, 7)) * {JITTER}": "`round` makes one. Called garage(1, 0.5). "
    "Returned 5000.0, expected 5000",
    f"return min(600, 5 * 2 ** min(failed - 1, 7)) * {JITTER}": "`round` makes one",
    "return '5000'": "`round` makes one",
    # a factor or a table of another kind
    f"return round(min(600_000, 5000 * failed) * {JITTER})": "the doubling ends at ten minutes",
    f"return round(1000 * [5, 30, 300, 3600][min(failed, 4) - 1] * {JITTER})": "twice the first",
    # no jitter, document C's jitter, full jitter
    "return min(600_000, 5000 * 2 ** min(failed - 1, 7))": "an unlucky roll",
    "return int(min(600_000, 5000 * 2 ** min(failed - 1, 7)) + 500 * u)": "the first wait is the base",
    "return int(min(600_000, 5000 * 2 ** min(failed - 1, 7)) * u)": "the first wait is the base",
    # no cap, the cap after the dice, the cap after the power
    f"return round(5000 * 2 ** (failed - 1) * {JITTER})": "the doubling ends",
    f"return round(min(600_000, 5000 * 2 ** min(failed - 1, 20) * {JITTER}))": "Which comes last?",
    f"return round(min(600_000, 5000 * 2.0 ** (failed - 1)) * {JITTER})": "a large n is only a large n",
    f"return round(min(600_000, 5000 * 2 ** (failed - 1) * {JITTER}))": "Which comes last?",
    # right, by way of a number of 200,000 bits; or of as many steps
    f"return round(1000 * min(600, 5 * 2 ** (failed - 1)) * {JITTER})": "clamp the exponent before the power",
    f"return round(min(600_000, 5000 << failed - 1) * {JITTER})": "clamp the exponent before the power",
    f"n = 5000\n    for _ in range(failed - 1): n *= 2\n    return round(min(600_000, n) * {JITTER})": "clamp the expo",
    f"n = 5000\n    for _ in range(failed - 1): n = min(600_000, 2 * n)\n    return round(n * {JITTER})": "Passed",
    "return garage(failed - 1, u) if failed > 8 else 5000 << failed - 1": "an unlucky roll",
    f"return garage(failed - 1, u) if failed > 8 else round(min(600_000, 5000 << failed - 1) * {JITTER})": "It raised "
    "RecursionError",
    # document B: 64 bits, in ns
    f"return round(min(600_000, int64(5 * 10**9 << (failed - 1)) // 10**6) * {JITTER})": "64 bits are soon used up",
    # the stub
    "pass": "nothing came back. Is there a `return`",
    "return None": "Returned None, expected 5000",
    f"if failed < 8: return round((5000 << failed - 1) * {JITTER})": "nothing came back",
}


class Dice:
    def __init__(self, u):
        self.random = lambda: u


def int64(x):
    return (x + 2**63) % 2**64 - 2**63


def verdict(garage):
    namespace = {"garage": garage}
    for cell in CELLS:
        if "check" in cell.metadata.get("tags", []):
            exec(cell.source.replace("\ncheck(garage)", "\nsaid = check(garage)"), namespace)
    return namespace["said"]


@pytest.mark.parametrize("body", ANSWERS)
def test_the_garages_terms(body):
    names = {"Exponential": Exponential, "proportional": proportional, "Dice": Dice, "int64": int64, "math": math}
    exec(f"def garage(failed, u):\n    {body}", names)
    assert ANSWERS[body] in verdict(names["garage"])


def test_the_solution_in_the_fold_passes():
    prose = next(cell.source for cell in CELLS if "A solution" in cell.source)
    names = {}
    exec(prose.split("```python\n")[1].split("```")[0], names)
    assert "Passed" in verdict(names["garage"])


def test_the_kits_policy_of_the_fold_keeps_the_terms():
    policy = Exponential(5, cap=600, jitter=proportional(0.2))
    assert [policy.delay(n, Dice(0.5)) for n in (1, 2, 8, 10**9)] == [5000, 10_000, 600_000, 600_000]
    assert 480_000 <= policy.delay(50, new_rng(1)) <= 720_000
