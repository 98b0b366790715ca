import pytest

from jobkit.errors import ConfigError
from jobkit.plot import lines

WORDS = {"x": "members", "y": "µs", "caption": "It hardly grows.", "twin": "From 30 to 40 µs."}


def test_the_figures_are_under_the_picture():
    made = lines({"ZADD": [(1000, 30), (10**6, 40.25)], "PING": [(1000, 28)]}, **WORDS)
    assert made.rows == (("members", "ZADD", "PING"), ("1,000", "30", "28"), ("1,000,000", "40.25", "-"))
    assert made.png.startswith(b"\x89PNG")
    assert "From 30 to 40" in str(made)


def test_what_has_no_logarithm_is_refused():
    for series in ({}, {"a": []}, {"a": [(0, 1)]}, {"a": [(1, -1)]}, {str(n): [(1, 1)] for n in range(7)}):
        with pytest.raises(ConfigError):
            lines(series, **WORDS)
