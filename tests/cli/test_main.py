"""The command line itself: light to ask, and one line when something is wrong."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobkit.cli.main import COMMANDS


def jobkit(*arguments, **env):
    return subprocess.run(
        [sys.executable, "-m", "jobkit", *arguments],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",)])
def test_help_lists_every_command(arguments):
    done = jobkit(*arguments)
    assert done.returncode == 0
    assert all(f"  {name} " in done.stdout for name in COMMANDS)


def test_help_imports_nothing_heavy():
    question = (
        "import sys, atexit; from jobkit.cli.main import main\n"
        "heavy = {'matplotlib', 'numpy', 'IPython', 'nbformat', 'rich', 'redis', 'fakeredis', 'jupyterlab'}\n"
        "atexit.register(lambda: print('heavy:', *heavy & set(sys.modules)))\n"
        "main(['--help'])"
    )
    done = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy:\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_each_line_of_the_table_has_its_command(name):
    command = importlib.import_module(f"jobkit.cli.{name}").command
    assert callable(command)
    assert command.help


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("thunder",), "jobkit: No such command 'thunder' (`jobkit --help` tells more)\n"),
        (("tour", "--loud"), "No such option '--loud'"),
        (("tour", "--timeout"), "requires an argument"),
        (("tour", "--timeout", "soon"), "'soon' is not a valid"),
    ],
)
def test_what_a_user_can_mend_is_one_line_and_exit_2(arguments, says):
    done = jobkit(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("jobkit: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_version():
    assert jobkit("--version").stdout == "jobkit 0.1.0\n"


def test_credentials_that_a_user_typed_are_not_printed():
    done = jobkit("redis://ada:s3cret@host")
    assert done.returncode == 2
    assert "s3cret" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "jobkit", "doctor", "--json"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("jobkit: ")
    assert "Traceback" not in done.stderr
