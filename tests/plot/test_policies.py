"""Pictures of retry policies: the figures behind them are the policies' own."""

import numpy as np
import pytest

from jobkit import Decorrelated, Exponential, Table, full, plot, proportional
from jobkit.errors import ConfigError, DelayError


def test_a_sequence_is_what_the_policy_says():
    drawn = plot.sequence({"Codily": Exponential.counting_retries()}, 7)
    assert [row[1] for row in drawn.rows[1:]] == ["2 s", "4 s", "8 s", "16 s", "32 s", "60 s", "60 s"]


def test_a_band_is_the_jitters_range():
    drawn = plot.sequence({"A": Table(5, 3600, jitter=proportional(0.2)), "full": Table(5, 3600, jitter=full)}, 2)
    assert drawn.rows[1:] == (
        ("1", "5 s (4 s to 6 s)", "2.5 s (0 ms to 5 s)"),
        ("2", "60 min (48 min to 72 min)", "30 min (0 ms to 60 min)"),
    )


def test_a_policy_of_ones_own():
    class Dice:
        def delay(self, attempt, rng):
            return rng.randint(1, 6) * 1000 * attempt

    assert plot.sequence({"dice": Dice()}, 2).rows[2] == ("2", "6 s (2 s to 12 s)")
    drawn = plot.distribution(Dice(), n=600)
    assert (drawn.rows[1][1], drawn.rows[1][-1]) == ("1 s", "6 s")


def test_a_policy_that_remembers_its_chain():
    assert plot.sequence({"decorrelated": Decorrelated(1, cap=20)}, 3).rows[3] == ("3", "5.75 s (1 s to 20 s)")


def test_a_distribution_counts_every_job_once():
    drawn = plot.distribution({"none": Table(5), "A": Table(5, jitter=proportional(0.2))}, n=1000, per=0.5)
    assert "per 500 ms" in drawn.caption
    assert "none: all after 5 s, at most 1,000;" in drawn.twin
    assert drawn.rows[1] == ("none", *["5 s"] * 5)


def test_a_distribution_draws_what_the_policy_draws():
    policy = Table(5, jitter=full)
    delays = policy.delays(np.ones(1000, dtype=int), np.random.default_rng(3))
    bars = np.bincount(delays // 1000)
    assert f"at most {bars.max()}." in plot.distribution(policy, n=1000, seed=3, per=1).twin


def test_equal_seeds_give_equal_pictures_and_others_do_not():
    def draw(seed):
        return plot.distribution(Table(5, jitter=full), n=100, seed=seed)

    assert draw(1) == draw(1)
    assert draw(1) != draw(2)


def test_too_many_policies_are_refused():
    with pytest.raises(ConfigError, match="1 to 6"):
        plot.sequence({str(n): Table(5) for n in range(7)})
    with pytest.raises(ConfigError, match="1 to 6"):
        plot.distribution({})


def test_a_bar_has_a_width():
    with pytest.raises(DelayError, match="per"):
        plot.distribution(Table(5), per=0)
