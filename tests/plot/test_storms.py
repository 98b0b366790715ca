"""Pictures of storms: what they say is what the simulator says."""

import time

import pytest

import jobkit as jk
from jobkit import plot
from jobkit.errors import ConfigError
from jobkit.plot.sliders import Slider
from jobkit.storm import compare, metastable, occ, storm, strategies

TABLE = {"none": jk.Table(5, 30, 300, 3600), "full": jk.Table(5, 30, 300, 3600, jitter=jk.full)}


@pytest.fixture(scope="module")
def table():
    return compare(TABLE, jobs=2_000, outage=30, capacity=100, poll=0)


def test_a_storm_in_words(table):
    drawn = plot.storm(table)
    assert drawn.rows[1] == ("none", "2,000", "2,000", "9,700", "1,700", "65.6 min", "65.6 min")
    assert "none: at most 2,000 retries in 1 s" in drawn.twin
    assert "per 1 s" in drawn.caption
    assert "per 100 ms" in plot.storm(table.storms[0], bin=0.1).caption


def test_waves_count_each_retry(table):
    drawn = plot.waves(table.storms[0])
    assert drawn.rows[1:] == (
        ("1", "2,000", "2,000", "5 s", "5 s"),
        ("2", "2,000", "2,000", "35 s", "35 s"),
        ("3", "1,900", "1,900", "335 s", "335 s"),
        ("4", "1,800", "1,800", "65.6 min", "65.6 min"),
    )
    assert plot.waves(storm(jk.Table(5), jobs=5, outage=0, capacity=9, retries=2)).rows[2] == ("2", "0", "0", "-", "-")


def test_a_downstream_that_is_never_down_is_not_called_so():
    never_down = plot.storm([storm(jk.Table(5), jobs=5, outage=0, capacity=9, retries=2)])
    assert never_down.caption.endswith("When their retries come, per 1 s.")
    assert never_down.twin.startswith("The downstream serves 9/s.")


def test_completion_says_who_is_dead(table):
    assert plot.completion(table).rows[1][-1] == "1,700"
    nobody = storm(TABLE["none"], jobs=3, outage=100_000)
    assert plot.completion(nobody).rows[1] == ("none", *["never"] * 5, "3")


def test_goodput_says_whether_it_comes_back():
    runs = {f"{n} retries": metastable(200, retries=n, outage=2, after=30) for n in (0, 1)}
    drawn = plot.goodput(runs)
    assert drawn.rows[1][3] == f"after {runs['0 retries'].back_after_s:.0f} s"
    assert drawn.rows[2][3:] == ("never", "never")


def test_contention_has_a_row_per_number_of_clients():
    sweep = {name: [occ(policy, n, runs=5) for n in (2, 9)] for name, policy in strategies().items()}
    drawn = plot.contention(sweep)
    assert [row[0] for row in drawn.rows] == ["clients", "2", "9"]
    assert drawn.rows[1][1] == f"{sweep['none'][0].time_ms.mean():,.0f} / {sweep['none'][0].calls.mean():,.0f}"


CANNOT = {
    "no storm": lambda: plot.storm([]),
    "no storms": lambda: plot.completion([3]),
    "no outage": lambda: plot.goodput({}),
    "no strategy": lambda: plot.contention({}),
    "too many": lambda: plot.storm([storm(TABLE["none"], jobs=1)] * 7),
}


@pytest.mark.parametrize("what", CANNOT)
def test_what_cannot_be_drawn(what):
    with pytest.raises(ConfigError, match="a picture shows 1 to 6"):
        CANNOT[what]()


PARAMETERS = {"base": 5, "cap": 300, "jitter": "full", "capacity": 200, "outage": 60, "poll": 0.25}


def test_a_slider_draws_what_it_simulates():
    slider = Slider(jobs=500)
    png, words = slider.redraw(**PARAMETERS)
    assert png.startswith(b"\x89PNG")
    assert words == str(slider.run(**PARAMETERS).summary())
    assert slider.redraw(**PARAMETERS) == (png, words)
    assert slider.redraw(**PARAMETERS | {"jitter": "none"}) != (png, words)


def test_a_redraw_takes_no_more_than_a_tenth_of_a_second():
    slider, took = Slider(), []
    for _ in range(5):
        begin = time.process_time()
        slider.redraw(**PARAMETERS)
        took.append(time.process_time() - begin)
    assert min(took) < 0.1


def test_sliders_move_the_picture():
    box = plot.sliders(jobs=300)
    grid, image, words = box.children
    before = (image.value, words.value)
    next(control for control in grid.children if control.description == "jitter").value = "full"
    assert (image.value, words.value) != before
    assert "full: at most" in words.value
