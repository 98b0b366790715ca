"""Workers in processes of their own: the same search, the same report; and nothing is left of them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support import programs

from jobkit.errors import ConfigError, ExploreError
from jobkit.explore import explore, jobs, none_runs_twice
from jobkit.explore.apart import Apart
from jobkit.explore.watchdog import Watchdog


@pytest.fixture(scope="module")
def code():
    with Apart(programs.__file__) as code:
        yield code


@pytest.fixture
def apart(tmp_path):
    """Write a file and open it apart; afterwards no process of it is left."""
    opened = []

    def write(text, **settings):
        path = tmp_path / "answer.py"
        path.write_text(text, "utf-8")
        opened.append(Apart(path, **settings))
        return opened[-1]

    yield write
    for code in opened:
        code.close()
    assert_none_left(tmp_path)


def assert_none_left(folder):
    def its(process):
        try:
            return str(folder) in " ".join(process.cmdline())
        except psutil.Error:
            return False

    assert [process.info for process in psutil.process_iter(["pid", "status"]) if its(process)] == []
    zombies = [child for child in psutil.Process().children() if child.status() == psutil.STATUS_ZOMBIE]
    assert zombies == []


def both(code, name):
    names, asked = programs.CASES[name]
    here, there = dict(asked), dict(asked)
    if "after_crash" in asked:
        here["after_crash"], there["after_crash"] = vars(programs)[asked["after_crash"]], code.worker(asked["after_crash"])
    return (
        explore(*[vars(programs)[each] for each in names], **here),
        explore(*[code.worker(each) for each in names], **there),
    )


@pytest.mark.parametrize("name", programs.CASES)
def test_the_report_is_the_same(code, name):
    here, there = both(code, name)
    assert there.to_dict() == here.to_dict()
    assert str(there) == str(here)
