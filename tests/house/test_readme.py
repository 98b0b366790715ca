"""The README keeps its word: its commands exist and take these arguments, its example does what it says."""

import re
import shlex
from pathlib import Path

import click
import pytest

from jobkit.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
LINES = [line.split("#")[0].strip() for kind, block in BLOCKS if kind == "sh" for line in block.splitlines()]
(EXAMPLE,) = [block for kind, block in BLOCKS if kind == "python"]


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("make")])
def test_a_target_of_make_exists_and_says_what_it_does(line):
    _, target = line.split()
    assert re.search(rf"^{target}:.* ## \w+", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in LINES if "jobkit" in line])
def test_a_command_takes_these_arguments(line):
    program, *words = shlex.split(line)
    assert program == ".venv/bin/jobkit"
    command = cli
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), words.pop(0))
    command.make_context(program, words)


def test_every_line_is_one_of_these():
    assert len(LINES) >= 8
    assert all(line.startswith(("make ", ".venv/bin/jobkit ")) for line in LINES)


@pytest.mark.parametrize("which", ["fake", "private"])
def test_the_example_runs_five_times_in_no_time_and_buries_its_job(which, monkeypatch, capsys, request):
    if which == "private":
        request.getfixturevalue("live_server")  # skips, or fails, where there is none
    monkeypatch.setenv("JOBKIT_REDIS", which)
    exec(compile(EXAMPLE, "README.md", "exec"), {})
    *runs, letter = capsys.readouterr().out.strip().splitlines()
    assert len(runs) == 5
    assert all(f"attempt {n}" in line for n, line in enumerate(runs, 1))
    assert runs[-1].endswith("dead")
    assert "OSError: no route to ada@example.org" in letter
    assert sum(bool(line.strip()) for line in EXAMPLE.splitlines()) <= 12


def test_the_folders_of_the_map_exist():
    folders = re.findall(r"^\| `?([a-z/]+)/`?", README, re.MULTILINE)
    assert len(folders) > 5
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []
