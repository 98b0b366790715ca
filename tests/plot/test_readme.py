"""The README's picture is made by one command from a recorded run of notebook 05, and is the one that is stored."""

import subprocess
import sys
from pathlib import Path

import pytest

from jobkit.plot import readme
from jobkit.plot.shift import Shift

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "pictures" / "worker_dies.png"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("readme") / "worker_dies.png"
    command = [sys.executable, "-m", "jobkit.plot.readme", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=path.parent)
    return path, run


def test_the_command_makes_it_and_says_it_in_words(made):
    path, run = made
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size <= 80_000
    assert "3 workers ran 9 jobs in 10 runs" in run.stdout
    assert "w2 was killed at 0.8 s, 0.7 s into room 412." in run.stdout
    assert "w3 ran it again (run 2)" in run.stdout


def test_the_stored_one_shows_the_same(made):
    """Compared by what is seen, not by bytes: another matplotlib sets its letters a little differently."""
    import numpy as np
    from PIL import Image

    with Image.open(made[0]) as new, Image.open(STORED) as old:
        assert new.size == old.size
        apart = np.abs(np.asarray(new.convert("L"), dtype=int) - np.asarray(old.convert("L"), dtype=int))
    assert apart.mean() < 2


def test_the_readme_shows_it_and_says_what_it_shows():
    words = (ROOT / "README.md").read_text()
    assert "(docs/pictures/worker_dies.png)" in words
    alt = words.split("![", 1)[1].split("](docs/pictures/worker_dies.png)", 1)[0]
    assert "w2 is killed while it runs the job of room 412" in alt
    assert "w3 runs room 412 again" in alt


def test_the_night_is_one_of_the_notebooks_own_code():
    """What was recorded are the jobs that notebook 05 submits, on the crew that it starts."""
    cells = readme.code_cells(readme.NOTEBOOK.read_text("utf-8"))
    names = {}
    (submits,) = [cell for cell in cells if "plot.watch(" in cell]
    exec(submits.splitlines()[0], names)
    night = Shift.load(readme.NIGHT)
    assert {mark.id for mark in night.marks} == set(names["rooms"])
    assert set(night.workers()) == {"w1", "w2", "w3"}
    assert len(night.killed) == 1


def test_without_a_file_it_says_how_to_call_it():
    run = subprocess.run([sys.executable, "-m", "jobkit.plot.readme"], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == "usage: python -m jobkit.plot.readme FILE.png, or --record\n"
