"""docs/cli.md is true: its commands are run, in order, and print what it says."""

import doctest
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobkit.cli.main import COMMANDS, cli
from jobkit.connect import address_for_others

PAGE = (Path(__file__).parents[3] / "docs" / "cli.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NOT_RUN = {"lab", "tour", "store", "storm", "chaos"}
"""Shown without what they print: their options are checked, no more."""


def examples():
    """What the console blocks show, in order: (command, expected output)."""
    for kind, text in BLOCKS:
        if kind == "console":
            for example in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, expected = example.partition("\n")
                yield command, expected


def same(expected, got):
    """Whether they agree, but for `...`, the width of gaps, and the time of day."""
    expected, got = (re.sub(r"\d\d:\d\d:\d\d\.\d{3}", "TIME", text) for text in (expected, got))
    return doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def test_the_page_shows_every_command():
    first_words = [shlex.split(command)[1] for command, _ in examples() if command.startswith("jobkit")]
    assert set(first_words) == set(COMMANDS)
    shown = {tuple(shlex.split(command)[1:3]) for command, _ in examples()}
    assert {("dead", verb) for verb in ("list", "show", "requeue", "purge")} <= shown
    assert all(f"\n## {name}\n" in PAGE for name in COMMANDS)


def test_the_page_prints_what_the_commands_print(live, tmp_path, eventually):
    for kind, text in BLOCKS:
        if kind == "python" and (name := re.match(r"# (\w+\.py)\n", text)):
            tmp_path.joinpath(name[1]).write_text(text)
    env = {name: value for name, value in os.environ.items() if name not in {"JOBKIT_REDIS", "NO_COLOR"}}
    for command, expected in examples():
        if command.startswith("export "):
            live.prefix = "shop:"
            env["JOBKIT_REDIS"] = address_for_others(live)
            continue
        program, *arguments = shlex.split(command)
        if arguments[0] in NOT_RUN:
            parse(arguments)
            continue
        argv = [sys.executable, *(["-m", "jobkit"] if program == "jobkit" else []), *arguments]
        got = run(argv, expected, env, tmp_path, eventually)
        assert same(expected.replace("^C\n", ""), got), f"$ {command}\n{got}\nbut the page says\n{expected}"


def parse(arguments):
    """Check a command's options without running it."""
    command = cli.get_command(None, arguments[0])
    command.make_context(arguments[0], arguments[1:])


def run(argv, expected, env, folder, eventually):
    """Run one example; at a `^C` in what is expected, interrupt it once it has printed what stands before."""
    before, interrupt, _ = expected.partition("^C\n")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(argv, env=env, cwd=folder, text=True, **pipes) as process:
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(iter(process.stdout.readline, "")))
        reader.start()
        if interrupt:
            eventually(lambda: len(lines) >= before.count("\n") or process.poll() is not None, within=20)
            process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        reader.join(timeout=10)
    return "".join(lines)


def test_this_test_can_fail():
    assert not same("ready 1\n", "ready 2\n")
    assert not same("a\n", "a\nb\n")
    assert same("13:45:44.366  w1   it ... runs", "09:00:00.000  w1  it really runs")
    with pytest.raises(Exception, match="No such option"):
        parse(["tour", "--nonsense"])
