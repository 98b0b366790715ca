"""Who meets in a lane: three jobs of one entity, in every order, with a crash and a lost reply."""

import pytest
from support import page
from support.lane_pairs import LANE_FAULTS, MEETINGS, REPAIRS
from support.pairs import met

from jobkit.ready import Leases, Lists


def holds(report):
    assert report, str(report)
    assert report.coverage.complete, report.verdict


@pytest.mark.parametrize("where", MEETINGS, ids=", ".join)
def test_they_meet_in_a_lane(where):
    holds(met(*where, clock_jump=0))


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("where", MEETINGS + REPAIRS, ids=", ".join)
@pytest.mark.parametrize("store", [Lists(), Leases()], ids=lambda store: store.name)
def test_they_meet_whatever_the_store_and_leases_pass(store, where):
    holds(met(*where, store=store))


@pytest.mark.parametrize("name", LANE_FAULTS)
def test_a_fault_in_the_lanes_is_found(name, monkeypatch):
    page.finds("lanes", name, LANE_FAULTS[name], monkeypatch)


def test_the_page_has_all_faults_of_the_lanes():
    assert list(page.table("lanes")) == list(LANE_FAULTS)
