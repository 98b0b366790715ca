"""storm(): seeds, errors, results, and the pin to the queue."""

import subprocess
import sys
from random import Random

import numpy as np
import pytest

import jobkit as jk
from jobkit.errors import ConfigError
from jobkit.storm import compare, storm
from jobkit.storm.draw import retry_times

POLICIES = {
    "table": jk.Table(5, 30, 300, 3600, jitter=jk.proportional(0.2)),
    "exponential": jk.Exponential(),
    "equal": jk.Exponential(jitter=jk.equal),
    "additive": jk.Exponential.plus_up_to(),
    "codily": jk.Exponential.counting_retries(jitter=jk.full),
    "aws": jk.Exponential.aws(),
    "decorrelated": jk.Decorrelated(),
}


@pytest.mark.parametrize("name", POLICIES)
def test_a_job_on_the_queue_and_in_the_simulator_fails_at_the_same_ms(name):
    policy = POLICIES[name]
    clock = jk.VirtualClock()
    queue = jk.Queue(jk.connect("fake", clock=clock), "mail", max_attempts=5)
    worker = jk.Worker(queue, backoff=policy, name="w", rng=Random(7))
    failed = []

    @worker.task
    def receipt(_job):
        failed.append(clock.now())
        raise OSError("smtp is down")

    queue.submit("receipt")
    worker.drain()

    run = storm(policy, jobs=1, outage=10_000_000, poll=0, seed=Random(7))
    assert queue.counts().dead == 1 == run.dead
    assert [at - failed[0] for at in failed] == [0, *run.times[:, 0].tolist()]


def test_equal_seeds_give_equal_storms_and_others_others():
    first, again, other = (storm(POLICIES["table"], jobs=500, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.times, again.times)
    assert np.array_equal(first.served_by, again.served_by)
    assert not np.array_equal(first.times, other.times)


@pytest.mark.parametrize("pool", [{}, {"workers": 50, "service": 1}])
def test_the_summary_agrees_with_the_arrays(pool):
    run = storm(POLICIES["table"], jobs=3_000, outage=20, capacity=50, **pool)
    row = run.summary(bin=0.5)
    made = [(int(t), j, k) for (k, j), t in np.ndenumerate(run.times) if run.served_by[j] == 0 or k < run.served_by[j]]
    assert all(t >= 0 for t, _, _ in made)
    assert row.total_calls == 3_000 + len(made) == 3_000 + len(run.calls_ms())
    assert row.amplification == row.total_calls / 3_000
    served = sorted(int(run.times[k - 1, j]) for j, k in enumerate(run.served_by) if k)
    assert row.dead == 3_000 - len(served)
    assert (row.p50_s, row.p99_s) == tuple(served[int(np.ceil(len(served) * q)) - 1] / 1000 for q in (0.5, 0.99))
    assert row.drained_s == max(t for t, _, _ in made) / 1000
    assert row.peak == max(np.bincount([t // 500 for t, _, _ in made]))
    assert row.peak_after == max(np.bincount([(t - 20_000) // 500 for t, _, _ in made if t >= 20_000]))
    assert run.arrivals().sum() == len(made)


def test_nobody_served():
    row = storm(POLICIES["table"], jobs=10, outage=100_000).summary()
    assert (row.dead, row.p50_s, row.p99_s, row.goodput, row.peak_after) == (10, None, None, None, 0)
    assert "10 dead, nobody served" in str(row)


def test_a_policy_of_ones_own_needs_delay_alone():
    class Hourly:
        def delay(self, attempt, rng):
            return 3_600_000 * attempt + rng.randrange(10) if isinstance(rng, Random) else 3_600_000 * attempt

    run = storm(Hourly(), jobs=3, retries=2)
    assert run.times.tolist() == [[3_600_000] * 3, [10_800_000] * 3]
    assert storm(Hourly(), jobs=3, retries=2, poll=0, seed=Random(1)).times.max() > 10_800_000
    assert compare([Hourly()], jobs=3).rows[0].name == "hourly"


def test_waits_longer_than_24_days_take_wider_numbers():
    times = retry_times(jk.Table(3_000_000), 3, 2, np.random.default_rng(0))
    assert times.tolist() == [[3_000_000_000] * 3, [6_000_000_000] * 3]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ({"jobs": 0}, "jobs must be a whole number from 1 to 100000000, got 0"),
        ({"jobs": 2.5}, "jobs must be a whole number"),
        ({"jobs": True}, "got True"),
        ({"retries": 0}, "retries must be a whole number from 1 to 200, got 0"),
        ({"outage": float("nan")}, "outage must be a number of seconds"),
        ({"outage": -1}, "outage must not be negative, got -1"),
        ({"capacity": 0}, "capacity must be a number above 0"),
        ({"capacity": "many"}, "got 'many'"),
        ({"capacity": 0.5}, "at least one call"),
        ({"window": 0}, "window must be at least 0.001 s, got 0"),
        ({"poll": "often"}, "poll must be a number of seconds"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"seed": "x"}, "got 'x'"),
        ({"collapse": 2}, "collapse is a pair"),
        ({"collapse": (0.5, 30)}, "the k of collapse"),
        ({"collapse": (2, 0)}, "the T of collapse"),
        ({"workers": 3}, "workers and service go together"),
        ({"workers": 0, "service": 1}, "workers must be a whole number"),
        ({"workers": 3, "service": 0.5, "collapse": (2, 30)}, "service must be at least the window"),
    ],
)
def test_bad_input_gets_one_clear_sentence(setting, says):
    with pytest.raises(ConfigError) as caught:
        storm(POLICIES["table"], **setting)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("policy", [None, jk.full, jk.Table, 5])
def test_what_is_no_policy_is_refused(policy):
    with pytest.raises(ConfigError, match="a policy has a method delay"):
        storm(policy)


def test_a_policy_with_waits_that_cannot_be():
    class Wrong:
        def delay(self, _attempt, _rng):
            return -1

    with pytest.raises(ConfigError, match="whole numbers of ms of at least 0"):
        storm(Wrong(), jobs=2)


def test_a_comparison_is_a_table():
    table = compare({"a": jk.Table(5), "<b>": jk.Table(5, jitter=jk.full)}, jobs=50, retries=1)
    assert len(table) == 2
    assert table["a"] == table.rows[0]
    lines = repr(table).splitlines()
    assert len({len(line) for line in lines[:3]}) == 1
    assert "&lt;b&gt;" in table._repr_html_()
    with pytest.raises(KeyError, match="'c' is not among a, <b>"):
        table["c"]
    with pytest.raises(ConfigError, match="at least one"):
        compare([])
    with pytest.raises(ConfigError, match="cannot be changed by jobs"):
        compare(table.storms, jobs=3)
    assert compare(table.storms).rows == table.rows


def test_jk_storm_is_the_simulator_and_is_loaded_when_it_is_first_named():
    code = (
        "import sys, jobkit as jk; print('numpy' in sys.modules, 'storm' in dir(jk), "
        "jk.storm.storm(jk.Table(5), 9).summary().total_calls, 'numpy' in sys.modules, 'redis' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "45", "True", "False"]
