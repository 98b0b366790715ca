import pytest

from jobkit.errors import ConfigError
from jobkit.plot import calls

RUSH = [(0, True), (10, False), (999, False), (61_000, True)]
WORDS = {"per": 10, "limit": 0.5, "caption": "They are refused."}


def test_the_figures_are_under_the_picture():
    made = calls({"a rush": RUSH, "one": [(0, True)]}, **WORDS)
    assert made.rows == (
        ("", "calls", "answered", "refused", "most in 10 s"),
        ("a rush", "4", "2", "2", "3"),
        ("one", "1", "1", "0", "1"),
    )
    assert made.png.startswith(b"\x89PNG")
    assert "a rush: 4 calls, 2 answered, the last after 61 s" in made.twin


def test_nobody_was_answered():
    made = calls({"in vain": [(5, False)]}, per=1, caption="None.")
    assert made.twin == "in vain: 1 call, 0 answered."


def test_what_cannot_be_drawn_is_refused():
    for series in ({}, {"a": []}, {str(n): [(1, True)] for n in range(7)}):
        with pytest.raises(ConfigError):
            calls(series, **WORDS)
