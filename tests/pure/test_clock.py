"""Seconds outside, whole ms inside; a clock that moves only when told to."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rubbish import NO_MOMENTS, NO_SECONDS

from jobkit.clock import TEN_YEARS, Clock, VirtualClock, moment_ms, new_rng, spoken, to_ms
from jobkit.errors import ConfigError, DelayError

NOW = 1_767_225_600_000


@pytest.mark.parametrize("name", NO_SECONDS)
def test_no_seconds(name):
    with pytest.raises(DelayError, match="lease must be"):
        to_ms(NO_SECONDS[name], "lease")


@pytest.mark.parametrize(
    ("seconds", "ms"),
    [
        (0, 0), (5, 5000), (0.25, 250), (0.0004, 0), (0.0006, 1), (-1, 0), (-1e308, 0), (1e-300, 0), (0.1 + 0.2, 300),
        (2**31 / 1000, 2**31), (TEN_YEARS, TEN_YEARS * 1000), (timedelta(hours=1), 3_600_000),
        (timedelta(microseconds=1500), 2), (timedelta(days=-1), 0), (-(10**400), 0),
    ],
)  # fmt: skip
def test_seconds(seconds, ms):
    got = to_ms(seconds)
    assert got == ms
    assert type(got) is int


@given(st.integers(0, TEN_YEARS * 1000))
def test_ms_survive_the_float_between(ms):
    assert to_ms(ms / 1000) == to_ms(timedelta(milliseconds=ms)) == ms


@pytest.mark.parametrize(
    ("what", "least", "says"),
    [
        (
            "delay",
            0,
            r"^delay must be a number of seconds \(less than 0 means now\) up to 315360000 \(ten years\), got nan$",
        ),
        ("over", 0, r"\(less than 0 means 0\) up to"),
        ("lease", 10, r"^lease must be a number of seconds from 0\.01 up to 315360000 \(ten years\), got nan$"),
    ],
)
def test_what_is_allowed_is_said_as_it_is(what, least, says):
    with pytest.raises(DelayError, match=says):
        to_ms(float("nan"), what, least=least)
    if not least:
        assert to_ms(-5, what) == 0


def test_a_least_time():
    assert to_ms(0.01, least=10) == 10
    with pytest.raises(DelayError, match=r"at least 0\.01 s"):
        to_ms(0.009, "lease", least=10)
    with pytest.raises(DelayError):
        to_ms(-5, "lease", least=10)


@pytest.mark.parametrize("name", NO_MOMENTS)
def test_no_moments(name):
    with pytest.raises(DelayError, match=r"^at must"):
        moment_ms(NO_MOMENTS[name], NOW)


def test_moments():
    assert moment_ms(datetime(2026, 1, 1, tzinfo=UTC), NOW) == NOW
    assert moment_ms(datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), NOW) == NOW
    assert moment_ms(datetime(1900, 1, 1, tzinfo=UTC), NOW) == 0
    assert moment_ms(datetime(2035, 12, 29, tzinfo=UTC), NOW) > NOW
    with pytest.raises(DelayError, match="ten years"):
        moment_ms(datetime(2036, 1, 2, tzinfo=UTC), NOW)


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (40, "40 ms"),
        (5300, "5.3 s"),
        (3_050_000, "50.8 min"),
        (93_600_000, "26 h"),
        (1_036_800_000, "12 days"),
    ],
)
def test_durations_as_people_say_them(ms, said):
    assert spoken(ms) == said


def test_a_virtual_clock_stands_still():
    clock = VirtualClock()
    assert clock.now() == clock.now() == NOW
    clock.advance(5)
    clock.sleep(timedelta(seconds=1))
    clock.advance(-5)
    assert (clock.now(), clock.monotonic()) == (NOW + 6000, (NOW + 6000) / 1000)
    assert repr(clock) == f"VirtualClock(start={NOW + 6000})"
    assert VirtualClock(5).now() == 5


@pytest.mark.parametrize("name", NO_SECONDS)
def test_it_moves_by_seconds_only(name):
    clock = VirtualClock()
    with pytest.raises(DelayError):
        clock.advance(NO_SECONDS[name])
    assert clock.now() == NOW


def test_timers_ring_at_their_moments_in_order():
    clock, rung = VirtualClock(0), []
    clock.every(300, lambda: rung.append(("a", clock.now())))
    clock.every(200, lambda: rung.append(("b", clock.now())))
    clock.advance(0.6)
    assert rung == [("b", 200), ("a", 300), ("b", 400), ("a", 600), ("b", 600)]
    assert clock.now() == 600


def test_a_cancelled_timer_rings_no_more_also_from_within():
    clock, rung = VirtualClock(0), []

    def ring():
        rung.append(clock.now())
        if len(rung) == 2:
            timer.cancel()

    timer = clock.every(100, ring)
    clock.advance(1)
    assert rung == [100, 200]


def test_a_timer_that_raises_stops_the_clock_there_and_rings_again():
    clock = VirtualClock(0)

    def burst():
        raise ValueError("burst")

    clock.every(100, burst)
    with pytest.raises(ValueError, match="burst"):
        clock.advance(1)
    assert clock.now() == 100
    with pytest.raises(ValueError, match="burst"):
        clock.advance(0.1)
    assert clock.now() == 200


def test_a_timer_may_sleep_and_start_timers():
    clock, rung = VirtualClock(0), []

    def ring():
        clock.sleep(0.05)
        rung.append(clock.now())

    clock.every(100, ring)
    clock.advance(0.35)
    assert rung == [150, 250, 350]
    assert clock.now() == 350


def test_real_time_cannot_be_moved():
    clock = Clock()
    assert not clock.can_advance
    assert not clock.virtual
    with pytest.raises(ConfigError, match="cannot be moved"):
        clock.advance(5)
    before = clock.monotonic()
    clock.sleep(0.001)
    assert clock.monotonic() > before
    assert abs(clock.now() - datetime.now(UTC).timestamp() * 1000) < 1000


def test_sources_of_chance():
    assert new_rng(5).random() == new_rng(5).random()
    assert new_rng().random() != new_rng().random()
    assert math.isfinite(new_rng().random())
