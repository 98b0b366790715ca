"""The arithmetic of snapshots: histograms, sums over shards, rates between two looks."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobkit.stats import Lateness, Meter, Rates, Stats

BOUNDS = (0.005, 0.1, 1.0, math.inf)
histograms = st.builds(
    lambda counts: Lateness(float(sum(counts)), dict(zip(BOUNDS, counts, strict=True))),
    st.lists(st.integers(0, 1000), min_size=len(BOUNDS), max_size=len(BOUNDS)),
)
EMPTY = Stats(0, 0, 0, 0, 0, None, {}, "q", 0, None, None, None, Lateness())


def test_within_is_the_first_bound_that_holds_so_many():
    lateness = Lateness(3.0, {0.005: 98, 0.1: 1, 1.0: 1, math.inf: 0})
    assert [lateness.within(share) for share in (0.5, 0.98, 0.99, 0.995, 1.0)] == [0.005, 0.005, 0.1, 1.0, 1.0]
    assert lateness.mean == 0.03
    assert Lateness().within(0.5) is None
    assert Lateness(9e9, {0.005: 0, math.inf: 1}).within(0.5) == math.inf


@given(histograms, st.floats(0.001, 1.0))
def test_within_holds_for_so_many_and_no_lower_bound_does(lateness, share):
    found = lateness.within(share)
    assert (found is None) is (lateness.count == 0)
    if found is not None:
        upto = sum(n for bound, n in lateness.buckets.items() if bound <= found)
        below = sum(n for bound, n in lateness.buckets.items() if bound < found)
        assert upto >= share * lateness.count - 1e-9
        assert below < share * lateness.count + 1e-9


@given(histograms, histograms)
def test_what_came_since_is_what_was_added(before, more):
    assert (before + more).since(before) == more
    assert (before + more).count == before.count + more.count


def test_a_histogram_that_was_deleted_begins_anew():
    now = Lateness(0.1, {0.005: 2, 0.1: 1})
    assert now.since(Lateness(5.0, {0.005: 90})) == now


def test_a_sum_adds_what_can_be_added_and_keeps_the_greatest_age():
    one = replace(
        EMPTY, scheduled=1, waiting=6, ready=2, running=3, dead=4, wait=5.0, at=7, totals={"done": 1}, oldest_ready=1.0
    )
    other = replace(EMPTY, ready=20, wait=2.0, at=9, totals={"done": 2, "dead": 4}, oldest_ready=3.0, overdue=0.5)
    both = Stats.sum([one, replace(other, lateness=Lateness(2.0, {1.0: 3})), EMPTY])
    assert (both.scheduled, both.waiting, both.ready, both.running, both.dead) == (1, 6, 22, 3, 4)
    assert (both.wait, both.at, both.queue) == (2.0, 9, "")
    assert both.totals == {"done": 3, "dead": 4}
    assert (both.overdue, both.oldest_ready, both.oldest_due, both.oldest_dead) == (0.5, 3.0, 3.0, None)
    assert both.lateness == Lateness(2.0, {1.0: 3})


def test_rates_are_what_grew_by_the_servers_clock():
    before = replace(EMPTY, at=1000, totals={"done": 10})
    after = replace(EMPTY, at=3500, totals={"done": 15, "dead": 5}, lateness=Lateness(1.0, {1.0: 2}))
    rates = Rates.between(before, after)
    assert (rates.seconds, rates.per_second) == (2.5, {"done": 2.0, "dead": 2.0})
    assert rates.lateness.count == 2


def test_a_total_that_shrank_was_deleted_and_counts_from_zero():
    rates = Rates.between(replace(EMPTY, totals={"done": 100}), replace(EMPTY, at=1000, totals={"done": 3}))
    assert rates.per_second == {"done": 3.0}


@pytest.mark.parametrize("at", [0, -5])
def test_where_no_time_has_passed_there_is_no_rate(at):
    assert Rates.between(EMPTY, replace(EMPTY, at=at)) is None


class Scripted:
    """A queue whose snapshots are given."""

    def __init__(self, *snapshots):
        self.snapshots = iter(snapshots)

    def stats(self):
        return next(self.snapshots)


def test_a_meter_compares_each_look_with_the_last():
    looks = [replace(EMPTY, at=1000 * n, totals={"done": done}) for n, done in enumerate((0, 4, 5))]
    meter = Meter([Scripted(*looks)])
    assert meter.look() == [(looks[0], None)]
    assert [meter.look()[0].rates.per_second["done"] for _ in range(2)] == [4.0, 1.0]


def test_of_several_queues_the_last_reading_is_the_sum():
    one = [replace(EMPTY, at=at, totals={"done": done}) for at, done in ((0, 1), (1000, 2))]
    two = [replace(EMPTY, at=at, totals={"done": done}) for at, done in ((0, 10), (1000, 30))]
    meter = Meter([Scripted(*one), Scripted(*two)])
    assert [reading.stats.totals["done"] for reading in meter.look()] == [1, 10, 11]
    assert [reading.rates.per_second["done"] for reading in meter.look()] == [1.0, 20.0, 21.0]
