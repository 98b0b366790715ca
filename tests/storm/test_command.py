"""`jobkit storm`: the table, the JSON, the errors."""

import json

import pytest
from click.testing import CliRunner

from jobkit.cli.storm import command

COLUMNS = ["jitter", "peak", "total_calls", "dead", "p99_s", "drained_s"]


def run(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_json_has_a_row_per_jitter():
    done = run("--jobs", 10_000, "--outage", 60, "--capacity", 200, "--policy", "table",
               "--jitter", "none,proportional,full", "--json")  # fmt: skip
    rows = json.loads(done.stdout)
    assert [list(row) for row in rows] == [COLUMNS] * 3
    assert [row["jitter"] for row in rows] == ["none", "proportional", "full"]
    assert rows[0] == {
        "jitter": "none",
        "peak": 10_000,
        "total_calls": 49_800,
        "dead": 9_600,
        "p99_s": 3935.0,
        "drained_s": 3935.0,
    }
    assert rows[0]["peak"] > rows[1]["peak"] > rows[2]["peak"]


def test_the_same_seed_prints_the_same():
    assert run("--jobs", 100, "--seed", 3).stdout == run("--jobs", 100, "--seed", 3).stdout
    assert run("--jobs", 100, "--seed", 3).stdout != run("--jobs", 100, "--seed", 4).stdout


@pytest.mark.parametrize("policy", ["table", "exponential", "codily", "aws", "decorrelated"])
def test_every_policy(policy):
    rows = json.loads(run("--jobs", 50, "--policy", policy, "--jitter", "none,additive,equal", "--json").stdout)
    assert [row["jitter"] for row in rows] == (
        ["decorrelated"] if policy == "decorrelated" else ["none", "additive", "equal"]
    )


def test_nobody_served_is_null():
    assert json.loads(run("--jobs", 5, "--outage", 9_000, "--jitter", "none", "--json").stdout)[0]["p99_s"] is None


def test_an_unknown_jitter_says_which_there_are():
    done = run("--jitter", "none,wild")
    assert done.exit_code == 2
    assert "none, proportional, equal, full, additive, got 'wild'" in done.output


def test_limited_workers_and_a_collapse():
    done = run("--jobs", 2000, "--workers", 116, "--service", 2, "--collapse", 2, 30, "--jitter", "none", "--json")
    assert json.loads(done.stdout)[0]["peak"] == 58
