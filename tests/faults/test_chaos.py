"""A short campaign holds, and one over a queue with a fault in it does not."""

import json

import pytest
from click.testing import CliRunner
from support.cluster import cut_off

from jobkit.chaos import Plan, Report, campaign, verdict
from jobkit.chaos.campaign import _Campaign
from jobkit.cli.chaos import command
from jobkit.errors import ConfigError
from jobkit.ready import STORES

pytestmark = pytest.mark.live_only(reason="a campaign has a real server of its own")

GOOD = Report(
    submitted=10,
    done=9,
    dead=1,
    lost=0,
    forgotten=0,
    runs=12,
    extra_runs=2,
    double_effects=0,
    missing_effects=0,
    kills=10,
    kills_in_flight=9,
    restarts=0,
    replaced=0,
    slowest_recovery_s=1.0,
)


@pytest.mark.parametrize("store", STORES)
def test_workers_and_the_server_are_killed_and_nothing_is_lost(live_server, store):
    report = campaign(Plan(workers=2, jobs=200, kills=4, restarts=1, lease=1.0, seed=3, store=store))
    assert report.holds, report
    assert (report.submitted, report.kills, report.restarts) == (200, 4, 1)
    assert report.extra_runs <= report.kills + 2 * report.restarts  # a restart may cost each worker a run


@pytest.mark.slow
def test_masters_of_a_cluster_die_and_the_kit_loses_nothing(live_server):
    report = campaign(Plan(workers=2, jobs=200, kills=4, restarts=2, lease=1.0, seed=3, cluster=True))
    assert report.holds, report
    assert (report.done + report.dead + report.forgotten, report.kills, report.restarts) == (200, 4, 2)


@pytest.mark.slow
def test_what_the_replica_never_had_is_counted_and_is_not_the_kits_loss(live_server, monkeypatch):
    blow = _Campaign._strike_redis

    def broken(run):
        cluster = run._blow._cluster
        with cut_off(cluster, cluster.master_of(run._queue.keys.job)):
            blow(run)

    monkeypatch.setattr(_Campaign, "_strike_redis", broken)
    report = campaign(Plan(workers=2, jobs=200, kills=0, restarts=1, lease=1.0, seed=3, cluster=True))
    assert report.holds, report
    assert report.forgotten == 100
    assert verdict(report) == "holds; 100 forgotten by Redis"


def test_three_shards_keep_the_order_of_each_entity_and_three_schedulers_the_beat(live_server):
    plan = Plan(workers=2, jobs=150, kills=4, restarts=1, lease=1.0, seed=5, shards=3, entities=9, schedulers=3)
    report = campaign(plan)
    assert report.holds, report
    assert (report.submitted, report.overlaps, report.overtaken) == (150, 0, 0)
    assert (report.leaders_killed, report.leaders_paused) == (1, 1)
    assert report.occurrences > 0


@pytest.mark.parametrize(
    "fault",
    [
        {"lost": 1},
        {"double_effects": 1},
        {"missing_effects": 1},
        {"overlaps": 1},
        {"overtaken": 1},
        {"missing_occurrences": 1},
        {"double_occurrences": 1},
        {"kills_in_flight": 8},
    ],
    ids=str,
)
def test_a_report_with_a_fault_does_not_hold(fault):
    assert GOOD.holds
    assert not Report(**{**GOOD.__dict__, **fault}).holds


def test_the_command_prints_one_object_and_says_by_its_exit_whether_it_holds(live_server, monkeypatch):
    monkeypatch.setattr("jobkit.chaos.campaign", lambda plan, progress: GOOD)
    result = CliRunner().invoke(command, ["--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["lost"] == 0
    result = CliRunner().invoke(command, ["--json", "--store", "all"])
    assert [json.loads(line)["store"] for line in result.stdout.splitlines()] == list(STORES)
    monkeypatch.setattr("jobkit.chaos.campaign", lambda plan, progress: Report(**{**GOOD.__dict__, "lost": 1}))
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 1
    assert "DOES NOT HOLD" in result.stdout


@pytest.mark.parametrize(
    "wrong",
    [
        {"shards": -1},
        {"entities": -1},
        {"schedulers": -1},
        {"schedulers": 1},
        {"cluster": True, "restarts": 1, "entities": 5},
        {"workers": 0},
        {"jobs": 0},
        {"kills": -1},
        {"jobs": 5, "kills": 6},
        {"store": "tape"},
        {"cluster": True, "restarts": 21},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ConfigError):
        Plan(**wrong)
