"""`make` alone says what there is, and each target of it is one."""

import os
import re
import shutil
import subprocess

import pytest

from jobkit.cli.notebooks import FOLDER

ROOT = FOLDER.parent
INNER = {"runtime", "dev"}

needs_make = pytest.mark.skipif(not shutil.which("make"), reason="no make on PATH")


def make(*arguments):
    env = {
        name: value for name, value in os.environ.items() if not name.startswith("MAKE")
    }  # not the child of `make test`
    done = subprocess.run(["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout


@needs_make
def test_help_is_the_default_and_lists_every_target():
    targets = set(re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split())
    listed = re.findall(r"^  ([a-z-]+) +\S", make(), re.MULTILINE)
    assert set(listed) == targets - INNER
    assert make() == make("help")


@needs_make
@pytest.mark.parametrize("target", ["lab", "tour", "test", "test-all", "lint", "notebooks", "bench"])
def test_every_target_sets_itself_up_first(target):
    first = make("--dry-run", target).splitlines()[0]
    assert first.endswith(f"tools/bootstrap.py {'runtime' if target in {'lab', 'tour'} else 'dev'}")


def test_ci_runs_lint_and_tests_and_insists_on_a_live_server():
    script = (ROOT / ".ci" / "run").read_text()
    assert "JOBKIT_REQUIRE_LIVE=1" in script
    assert script.endswith("make lint test\n")
