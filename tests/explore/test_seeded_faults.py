"""Faults put into the Lua files on purpose: the explorer finds each, and names the promise that it breaks."""

import pytest
from support import page
from support.faults import FAULTS
from support.pairs import meetings


@pytest.mark.parametrize("name", FAULTS)
def test_the_explorer_finds(name, monkeypatch):
    fault = FAULTS[name]
    report = page.shown(fault, monkeypatch)
    assert report.failure is not None, f"survived {report.verdict}"
    assert report.failure.promise == fault.promise, str(report)
    assert page.line(name, fault, report) == page.table("faults")[name], page.AGAIN


def test_each_is_found_where_the_pairs_are_explored():
    elsewhere = [name for name, fault in FAULTS.items() if fault.setup not in meetings(fault.first, fault.second)]
    assert elsewhere == []


def test_every_file_of_a_verb_has_one():
    files = {fault.file.removeprefix("lua/") for fault in FAULTS.values()}
    verbs = "ack adopt cancel claim extend fail once promote purge recover release requeue submit shared"
    assert {f"{verb}.lua" for verb in verbs.split()} - files == set()


def test_the_page_has_them_all():
    assert list(page.table("faults")) == list(FAULTS)
