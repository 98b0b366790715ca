"""docs/design.md names what there is: the keys, the verbs, the states."""

import re
from pathlib import Path

import pytest

from jobkit.job import State
from jobkit.keys import Keys

PAGE = (Path(__file__).parents[2] / "docs" / "design.md").read_text("utf-8")
KEYS = "delayed ready alone lanes waiting dead totals tokens leader terms schedules schedule job bell"
VERBS = "submit promote claim ack fail extend release cancel recover requeue counts"


@pytest.mark.parametrize("part", KEYS.split())
def test_keys(part):
    key = getattr(Keys("queue"), part)
    assert re.search(rf"{{queue}}:{part}\b", PAGE), f"{key} is not in the table of keys"


@pytest.mark.parametrize("verb", VERBS.split())
def test_verbs(verb):
    assert re.search(rf"\b{verb}\b", PAGE)


@pytest.mark.parametrize("state", State)
def test_states(state):
    assert re.search(rf"\b{state}\b", PAGE)
