"""The README's picture is made by one command from a run of the kit, and is the one that is stored."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORED = ROOT / "docs" / "pictures" / "attempts.png"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path = tmp_path_factory.mktemp("readme") / "attempts.png"
    command = [sys.executable, "-m", "jobkit.plot.readme", str(path)]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=path.parent)
    return path, run


def test_the_command_makes_it_and_says_it_in_words(made):
    path, run = made
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size <= 80_000
    assert "receipt, 4 runs" in run.stdout
    assert "dead after 74 min" in run.stdout


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
    assert "(docs/pictures/attempts.png)" in words
    alt = words.split("![", 1)[1].split("](docs/pictures/attempts.png)", 1)[0]
    assert "fails three times" in alt


def test_without_a_file_it_says_how_to_call_it():
    run = subprocess.run([sys.executable, "-m", "jobkit.plot.readme"], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == "usage: python -m jobkit.plot.readme FILE.png\n"
