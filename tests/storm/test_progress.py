"""The bar: nothing within the first second, then how far."""

import subprocess
import sys

from jobkit.clock import VirtualClock
from jobkit.progress import bar


def go(seconds_a_step, capsys):
    clock = VirtualClock()
    seen = []
    for n in bar(range(20), "waves", clock):
        seen.append(n)
        clock.advance(seconds_a_step)
    assert seen == list(range(20))
    return capsys.readouterr().err


def test_what_is_quick_shows_nothing(capsys):
    assert go(0.05, capsys) == ""


def test_past_a_second_it_says_how_far(capsys):
    assert "waves:" in go(0.3, capsys)


def test_of_steps_without_a_length(capsys):
    assert list(bar(iter([1, 2]), "x", VirtualClock())) == [1, 2]


def test_a_storm_imports_no_bar_before_it_needs_one():
    code = (
        "import sys, jobkit as jk; from jobkit.storm import storm; storm(jk.Table(5), 9); "
        "print(*(name in sys.modules for name in ('tqdm', 'redis', 'matplotlib')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"] * 3
