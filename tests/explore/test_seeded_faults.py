"""Faults put into the Lua files on purpose: the explorer finds each, and names the promise that it breaks."""

import pytest
from support import page
from support.pairs import meetings
from support.store_faults import ALL_FAULTS


@pytest.mark.parametrize("name", ALL_FAULTS)
def test_the_explorer_finds(name, monkeypatch):
    page.finds("faults", name, ALL_FAULTS[name], monkeypatch)


def test_each_is_found_where_the_pairs_are_explored():
    elsewhere = [name for name, fault in ALL_FAULTS.items() if fault.setup not in meetings(fault.first, fault.second)]
    assert elsewhere == []


def test_every_file_of_a_verb_or_a_store_has_one():
    files = {fault.file.removeprefix("lua/").removeprefix("ready/") for fault in ALL_FAULTS.values()}
    verbs = "streams lists leases deadlines shared "
    verbs += "ack adopt cancel claim extend fail once promote purge recover release requeue submit"
    assert {f"{verb}.lua" for verb in verbs.split()} - files == set()


def test_the_page_has_them_all():
    assert list(page.table("faults")) == list(ALL_FAULTS)
