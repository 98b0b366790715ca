"""When occurrences are. The oracle of cron looks at every minute, and shares nothing with the parser."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rubbish import NO_SECONDS

from jobkit.errors import ScheduleError
from jobkit.timetable import CHUNK, LOOK, CatchUp, Cron, Every, plan, slot_text

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


def ms(*date, tz=UTC):
    return round(datetime(*date, tzinfo=tz).timestamp() * 1000)


def between(timetable, start, end):
    return list(_until(timetable.after(start), end))


def _until(slots, end):
    for slot in slots:
        if slot > end:
            return
        yield slot


# -- DST, on the dates that everybody looks up --------------------------------------------------


@pytest.mark.parametrize(
    ("cron", "zone", "day", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", (2026, 3, 29), ["03:00+02:00"]),  # 02:30 does not exist
        ("30 2 * * *", "Europe/Berlin", (2026, 10, 25), ["02:30+02:00"]),  # it exists twice
        ("0,30 2 * * *", "Europe/Berlin", (2026, 3, 29), ["03:00+02:00"]),
        ("30 1 * * *", "Europe/London", (2026, 3, 29), ["02:00+01:00"]),
        ("30 1 * * *", "Europe/London", (2026, 10, 25), ["01:30+01:00"]),
        ("30 2 * * *", "America/New_York", (2026, 3, 8), ["03:00-04:00"]),
        ("30 1 * * *", "America/New_York", (2026, 11, 1), ["01:30-04:00"]),
        ("15 2 * * *", "Australia/Lord_Howe", (2026, 10, 4), ["02:30+11:00"]),  # half an hour is missing
        ("45 1 * * *", "Australia/Lord_Howe", (2026, 4, 5), ["01:45+11:00"]),
        ("30 0 * * *", "Africa/Cairo", (2026, 4, 24), ["01:00+03:00"]),  # midnight is missing
        ("30 2 * * *", "Asia/Kolkata", (2026, 3, 29), ["02:30+05:30"]),
    ],
)
def test_a_daily_job_runs_once_per_local_day(cron, zone, day, expected):
    tz = ZoneInfo(zone)
    start = ms(*day, tz=tz)
    found = between(Cron(cron, zone), start - 1, start + 30 * HOUR)
    local = [datetime.fromtimestamp(slot / 1000, tz) for slot in found]
    assert [f"{at:%H:%M}{at.isoformat()[-6:]}" for at in local if at.date() == local[0].date()] == expected


@pytest.mark.parametrize(("day", "hours"), [((2026, 3, 29), 23), ((2026, 10, 25), 25), ((2026, 7, 1), 24)])
def test_an_hourly_job_follows_real_time(day, hours):
    tz = ZoneInfo("Europe/Berlin")
    start = ms(*day, tz=tz)
    end = round((datetime(*day, tzinfo=tz) + timedelta(days=1)).timestamp() * 1000)
    found = between(Cron("0 * * * *", "Europe/Berlin"), start - 1, end - 1)
    assert len(found) == hours
    assert {after - before for before, after in pairwise(found)} == {HOUR}


def test_a_slot_goes_on_from_where_it_is_asked_in_an_hour_that_comes_twice():
    second_time = ms(2026, 10, 25, 1, 10)  # 02:10 for the second time
    assert next(Cron("30 2 * * *", "Europe/Berlin").after(second_time)) == ms(2026, 10, 26, 1, 30)
    assert next(Cron("*/20 * * * *", "Europe/Berlin").after(second_time)) == ms(2026, 10, 25, 1, 20)


def test_a_slot_that_is_far_away_is_found_in_the_first_of_two_equal_hours():
    assert next(Cron("*/5 2 25 10 *", "Europe/Berlin").after(ms(2026, 1, 1))) == ms(2026, 10, 25, 0, 0)


# -- the oracle ----------------------------------------------------------------------------------


def _numbers(text, least, most):
    """Read `*`, `*/n`, `a`, `a-b`, and lists of these."""
    found = set()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = ("0", "", "59") if span == "*" else span.partition("-")
        found |= set(range(int(first), int(last or (most if step else first)) + 1, int(step or 1)))
    return {n for n in found if least <= n <= most}


def brute_force(cron, zone, start, end):
    """The slots in (start, end], by looking at every minute."""
    minute, hour, _, _, weekday = cron.split()
    minutes, hours = _numbers(minute, 0, 59), _numbers(hour, 0, 23)
    days = _numbers(weekday, 0, 6) if weekday != "*" else set(range(7))
    real_time = minute.startswith("*") or hour.startswith("*")
    tz, found, seen = ZoneInfo(zone), set(), set()
    before = datetime.fromtimestamp((start - 2 * DAY) / 1000, tz).replace(tzinfo=None)
    for at in range(start - 2 * DAY, end + 1, MINUTE):
        local = datetime.fromtimestamp(at / 1000, tz).replace(tzinfo=None)
        wall = [local]
        if not real_time:  # minutes that the clock jumped over are made up for at once; none counts twice
            wall = [before + timedelta(minutes=n) for n in range(1, int((local - before) / timedelta(minutes=1)))]
            wall = [one for one in [*wall, local] if one not in seen]
            seen.update(wall)
        before = max(before, local) if not real_time else local
        if any(w.minute in minutes and w.hour in hours and w.isoweekday() % 7 in days for w in wall):
            found.add(at)
    return sorted(slot for slot in found if slot > start)


ZONES = {
    "Europe/Berlin": [(2026, 3, 29), (2026, 10, 25)],
    "America/New_York": [(2026, 3, 8), (2026, 11, 1)],
    "Australia/Lord_Howe": [(2026, 4, 4), (2026, 10, 3)],
    "Africa/Cairo": [(2026, 4, 23), (2026, 10, 29)],
    "America/Sao_Paulo": [(2018, 11, 3), (2019, 2, 16)],
    "Asia/Kathmandu": [(2026, 3, 29)],
    "UTC": [(2026, 3, 29)],
}
CRONS = ["30 2 * * *", "0,15,59 1-3 * * *", "0 0 * * *", "*/7 * * * *", "0 * * * *", "*/10 2 * * *", "5 */2 * * 0"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("cron", CRONS)
def test_cron_agrees_with_a_look_at_every_minute(cron, zone):
    for day in ZONES[zone]:
        start = ms(*day) - DAY
        end = start + 3 * DAY
        assert between(Cron(cron, zone), start, end) == brute_force(cron, zone, start, end), day


@settings(max_examples=40)
@given(
    zone=st.sampled_from(sorted(ZONES)),
    minute=st.sampled_from(["0", "30", "*/7", "5-20/5", "1,2,59"]),
    hour=st.sampled_from(["*", "*/3", "0", "1-3", "2", "23", "1,2"]),
    offset=st.integers(0, 2 * 24 * 60 - 1),
    data=st.data(),
)
def test_cron_agrees_wherever_it_begins(zone, minute, hour, offset, data):
    start = ms(*data.draw(st.sampled_from(ZONES[zone]))) - DAY // 2 + offset * MINUTE
    cron = f"{minute} {hour} * * *"
    expected = brute_force(cron, zone, start, start + DAY)
    assert between(Cron(cron, zone), start, start + DAY) == expected
    assert _hopping(Cron(cron, zone), start, start + DAY) == expected


def _hopping(timetable, start, end):
    """The slots, each asked anew from the one before: as a schedule does that is read from Redis each time."""
    found = []
    while (start := next(timetable.after(start))) <= end:
        found.append(start)
    return found


# -- what is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "* * * *",
        "* * * * * *",
        "60 * * * *",
        "a * * * *",
        "*/0 * * * *",
        "0 0 30 2 *",
        "@daily",
        None,
        5,
        "-1 1 * * *",
    ],
)
def test_a_cron_expression_is_one(cron):
    with pytest.raises(ScheduleError, match="cron"):
        Cron(cron)


@pytest.mark.parametrize("zone", ["", "Nowhere/X", "../etc/passwd", "/etc/localtime", "Europe", None, 5, "x" * 300])
def test_a_zone_is_one(zone):
    with pytest.raises(ScheduleError, match="time zone"):
        Cron("* * * * *", zone)


@pytest.mark.parametrize("name", [*NO_SECONDS, "too short"])
def test_an_interval_is_seconds(name):
    with pytest.raises(ScheduleError, match="every"):
        Every.of(NO_SECONDS.get(name, 0.999))


@pytest.mark.parametrize(
    "word", ["", "all", "all:", "all:0", "all:1001", "all:-1", "all:x", "latest:1", "Skip", None, 5]
)
def test_a_policy_is_one(word):
    with pytest.raises(ScheduleError, match="catch_up"):
        CatchUp(word)


# -- intervals ---------------------------------------------------------------------------------------


def test_an_interval_does_not_drift():
    assert list(islice(Every.of(90).after(1000), 3)) == [91_000, 181_000, 271_000]
    assert Every.of(90).settled(1000, 200_000) == 181_000
    assert Every.of(90).settled(1000, 500) == 1000


# -- catching up -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "late", "made", "dropped"),
    [
        # minutely, the last at 0; grace one minute. Slots late by up to a minute are on time.
        ("skip", 0.5, [], 0),
        ("skip", 1, [1], 0),
        ("skip", 1.5, [1], 0),
        ("skip", 5.5, [5], 4),
        ("skip", 6, [5, 6], 4),
        ("latest", 5.5, [5], 4),
        ("all:3", 5.5, [2, 3, 4, 5], 1),
        ("all:100", 5.5, [1, 2, 3, 4, 5], 0),
    ],
)
def test_what_was_missed(word, late, made, dropped):
    step = plan(Every(MINUTE), 0, round(late * MINUTE), CatchUp(word), MINUTE)
    assert (step.slots, step.dropped) == ([n * MINUTE for n in made], dropped)
    assert step.last == int(late) * MINUTE
    assert step.next == int(late + 1) * MINUTE


@pytest.mark.parametrize(("word", "made"), [("skip", []), ("latest", [2]), ("all:2", [1, 2])])
def test_a_daily_job_that_is_hours_late(word, made):
    step = plan(Every(DAY), 0, 2 * DAY + 3 * HOUR, CatchUp(word), MINUTE)
    assert (step.slots, step.dropped) == ([n * DAY for n in made], 2 - len(made))
    assert (step.last, step.next) == (2 * DAY, 3 * DAY)


def test_on_time_though_late():
    """A takeover takes a lease and a tick: nothing of it is missed, whatever the policy."""
    for word in ("skip", "latest", "all:1"):
        assert plan(Every(5000), 0, 14_000, CatchUp(word), MINUTE)[:2] == ([5000, 10_000], 0)


def steps(timetable, last, now, word, grace):
    """Take all steps; return all slots, the number dropped, and how many steps it took."""
    made, dropped, taken = [], 0, 0
    while True:
        step = plan(timetable, last, now, CatchUp(word), grace)
        assert len(step.slots) <= CHUNK
        assert step.last >= last
        made, dropped, last, taken = made + step.slots, dropped + step.dropped, step.last, taken + 1
        if step.next > now:
            return made, dropped, taken
        assert step.slots or step.dropped, "a step that does nothing would be the last"


def test_a_year_of_minutes_is_taken_in_steps_of_a_bounded_size():
    minutes = 100_000
    made, dropped, taken = steps(Every(MINUTE), 0, minutes * MINUTE, "all:1000", MINUTE)
    assert made == [n * MINUTE for n in range(minutes - 1001, minutes + 1)]
    assert dropped == minutes - len(made)
    assert taken <= minutes // (LOOK - 1000) + 3


@settings(max_examples=200)
@given(
    every=st.integers(1000, 100_000),
    away=st.integers(0, 60_000_000),
    grace=st.sampled_from([0, 1000, 60_000, 10_000_000]),
    word=st.sampled_from(["skip", "latest", "all:1", "all:7", "all:1000"]),
)
def test_every_slot_is_made_or_dropped_and_the_rule_says_which(every, away, grace, word):
    made, dropped, _ = steps(Every(every), 0, away, word, grace)
    slots = list(range(every, away + 1, every))
    on_time = [slot for slot in slots if slot >= away - grace]
    missed = slots[: len(slots) - len(on_time)]
    keep = {"skip": 0, "latest": 0 if on_time else 1}.get(word) if ":" not in word else int(word[4:])
    assert made == missed[len(missed) - min(keep, len(missed)) :] + on_time
    assert dropped == len(slots) - len(made)


def test_the_text_of_a_slot():
    assert slot_text(ms(2026, 10, 25, 0, 30)) == "2026-10-25T00:30:00Z"
    assert slot_text(1500) == "1970-01-01T00:00:01.500Z"
