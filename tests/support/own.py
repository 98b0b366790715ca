"""What a reader made of an exercise or a notebook is theirs: it is not tested, and no test fails for it."""

import os
import sys
from pathlib import Path

import pytest

KIT = Path(__file__).parents[2]
sys.path.insert(0, os.fspath(KIT / "tools"))
import exercises  # noqa: E402, a script beside the package

MADE = exercises.exercises()


def somebodys_own(what):
    """Skip; but where a change is judged before it lands (.ci/run), a file that nobody's tool made is a fault."""
    if os.environ.get("JOBKIT_REQUIRE_LIVE") == "1":
        pytest.fail(f"{what} is not as the kit made it")
    pytest.skip(f"{what} is somebody's own work by now, so it is not tested")


def must_be_unsolved(name):
    """Go on only if an exercise (`02_.../claim.py`) is the one that the kit made."""
    path = KIT / "exercises" / name
    if not path.exists() or path.read_text("utf-8") != MADE[name]:
        somebodys_own(f"exercises/{name}")
