"""`make bench` runs, with next to nothing to do: every figure has its line, and its numbers are numbers."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FIGURES = [
    "submit_many, jobs/s",
    "drain, batch=100, jobs/s",
    "drain, each acked before the next, jobs/s",
    "socket reads per job",
    "with two threads, jobs/s",
    "due at one instant",
    "bytes per delayed job",
    "lateness at light load, p99, ms",
    "commands/s when idle",
    "from jobkit import Queue, Worker, connect, ms",
    "promote of 500 due",
    "ZRANGE, ZREM, schedules/s",
    "Lua: claim, schedules/s",
    "found: ZREM checked, RPUSH, ms",
]


@pytest.mark.usefixtures("live_server")  # skipped, or failed, where none can be had
def test_every_figure_has_a_line():
    few = ["--jobs", "40", "--runs", "1", "--seconds", "0.1"]
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", *few], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    for figure in FIGURES:
        found = [line for line in lines if figure in line]
        assert found, f"no line for {figure!r} in\n{ran.stdout}"
        assert all(float(line[48:58].replace(",", "")) >= 0 for line in found), found


def test_one_figure_may_be_asked_for():
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", "no-such"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert "no-such" in ran.stderr
