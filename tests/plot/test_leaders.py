"""Who takes himself for the leader: the words say what the bars show."""

import pytest

from jobkit import plot
from jobkit.errors import ConfigError

TERMS = {"Ada": [(0, 30, 1), (36, 60, 3)], "Bob": [(21, 51, 2)], "Cleo": []}


def test_its_twin_tells_every_belief_and_from_when_it_is_outdated():
    picture = plot.leaders(TERMS, asleep={"Ada": [(10, 30)]}, caption="Who leads.")
    assert "Ada believes to lead with number 1 from 0 to 30 s, though from 21 s on another one has" in picture.twin
    assert "Ada believes to lead with number 3 from 36 to 60 s." in picture.twin
    assert "Bob believes to lead with number 2 from 21 to 51 s, though from 36 s on" in picture.twin
    assert "Ada stands still from 10 to 30 s." in picture.twin
    assert picture.rows[1:] == (
        ("Ada", "0 s", "30 s", "1", "21 s"),
        ("Ada", "36 s", "60 s", "3", "-"),
        ("Bob", "21 s", "51 s", "2", "36 s"),
    )


def test_nobody():
    assert plot.leaders({"Ada": []}, caption="Who leads.").twin == "Nobody leads."
    with pytest.raises(ConfigError, match="at least one candidate"):
        plot.leaders({}, caption="Who leads.")


def test_lines_on_plain_axes():
    picture = plot.lines({"a": [(0, 7), (1, 8)]}, x="days", y="hours", caption="C.", twin="T.", log=False)
    assert picture.rows == (("days", "a"), ("0", "7"), ("1", "8"))
    with pytest.raises(ConfigError, match="logarithmic"):
        plot.lines({"a": [(0, 7)]}, x="days", y="hours", caption="C.", twin="T.")
