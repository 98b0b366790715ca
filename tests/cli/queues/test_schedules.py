"""Recurring schedules from the command line: listed, added, paused, resumed, removed; and a process that fires them."""

import json

import pytest

from jobkit.connect import address_for_others
from jobkit.leader import Leader
from jobkit.queue import Queue
from jobkit.recurring import Schedules


@pytest.fixture
def schedules(queue):
    return Schedules(queue)


def test_what_is_added_is_there(schedules, url, call):
    words = ["--args", '{"to": "ada"}', "--cron", "30 2 * * *", "--tz", "Europe/Berlin", "--catch-up", "all:7"]
    words += ["--grace", "5", "--priority", "3", "--entity", "ada", "--max-attempts", "2"]
    status, out, err = call("schedules", "add", "mail", "nightly", "receipt", *words)
    assert (status, err) == (0, "")
    assert out.startswith("nightly is next due at 20")
    found = schedules.get("nightly")
    assert found.job == ("receipt", b'{"to":"ada"}', 0, None, None, 3, "ada", 2, None)
    assert (found.cron, found.tz, found.catch_up, found.grace) == ("30 2 * * *", "Europe/Berlin", "all:7", 5000)


def test_list(queue, schedules, url, call):
    assert call("schedules", "list", "mail") == (0, "", "no schedules in mail\n")
    schedules.add("a b\n", "t", every=60)
    schedules.add("gone", "t", every=90)
    schedules.add("still", "t", every=90)
    schedules.pause("still")
    queue.redis.delete(queue.keys.schedule + "gone")
    _, out, _ = call("schedules", "list", "mail")
    heads, first, *others = out.splitlines()
    assert heads.split() == ["name", "task", "when", "made", "dropped", "next", "in"]
    assert first.startswith(r"$'a b\n'  t     every 60 s  ")
    assert {line.split()[0]: line.split("  ")[-1] for line in others} == {
        "gone": "stopped: its record is gone",
        "still": "paused",
    }


def test_list_as_json(queue, schedules, url, call):
    schedules.add("beat", "t", every=60)
    queue.redis.clock.advance(60)
    schedules.fire()
    told = json.loads(call("schedules", "list", "mail", "--json")[1])
    [beat] = told["schedules"]
    assert (beat["name"], beat["task"], beat["cron"], beat["every"], beat["made"]) == ("beat", "t", None, 60, 1)
    assert (beat["catch_up"], beat["grace"], beat["paused"], beat["error"]) == ("latest", 60, False, None)
    assert beat["next"] > beat["last"]


def test_pause_resume_remove(schedules, url, call):
    schedules.add("a", "t", every=60)
    schedules.add("b", "t", every=60)
    assert call("schedules", "pause", "mail", "a", "b") == (0, "a is paused\nb is paused\n", "")
    assert [schedule.paused for schedule in schedules.all()] == [True, True]
    status, out, _ = call("schedules", "resume", "mail", "b")
    assert (status, out.startswith("b is next due at ")) == (0, True)
    assert call("schedules", "remove", "mail", "a") == (0, "a is removed\n", "")
    assert [schedule.name for schedule in schedules.all()] == ["b"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", "mail", "beat", "t"),
        ("add", "mail", "beat", "t", "--cron", "61 * * * *"),
        ("add", "mail", "beat", "t", "--every", "nan"),
        ("add", "mail", "beat", "t", "--every", "5", "--cron", "* * * * *"),
        ("add", "mail", "beat", "t", "--every", "5", "--args", "[1]"),
        ("add", "mail", "beat", "t", "--every", "5", "--args", "{"),
        ("add", "mail", "beat", "t", "--every", "5", "--catch-up", "all"),
        ("add", "mail", "beat", "t", "--cron", "* * * * *", "--tz", "Nowhere/X"),
        ("pause", "mail", "nobody"),
        ("resume", "mail", "nobody"),
        ("remove", "mail", "nobody"),
        ("pause", "mail"),
    ],
)
def test_what_cannot_be_is_one_line(schedules, url, call, words):
    status, out, err = call("schedules", *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert schedules.all() == []


def test_a_scheduler_process_fires_them_once_it_leads(real, command, eventually):
    queue = Queue(real, "mail")
    other = Leader(queue, "other", lease=60)
    other.elect()
    Schedules(queue).add("beat", "t", every=1)
    words = ("scheduler", "mail", "--standby", "--leader-lease", "1", "--floor", "0.1")
    with command(*words, JOBKIT_REDIS=address_for_others(real)) as process:
        eventually(lambda: real.pubsub_numsub(queue.keys.bell)[0][1] == 1, within=20)
        assert queue.counts().ready == 0
        other.resign()
        eventually(lambda: queue.counts().ready >= 1, within=20)
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "leads mail, with number 2" in err
    assert other.holder() is None, "it resigned"
