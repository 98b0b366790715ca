"""Dead letters from the command line: listed, looked into, given another life, dropped."""

import base64
import json
import os
import subprocess
import sys

import pytest

import jobkit as jk

NASTY = "a\nb\x1b[31m'c"


def ids(queue):
    return [letter.id for letter in queue.dead(1000)]


# -- list ------------------------------------------------------------------------


def test_list_is_a_table_newest_first(queue, bury, url, call):
    bury("order:17")
    queue.clock.advance(60)
    bury(NASTY)
    status, out, err = call("dead", "list", "mail")
    assert (status, err) == (0, "")
    head, newest, oldest = out.splitlines()
    assert head.split("  ")[0] == "id"
    assert head.endswith("task     runs  dead for  why")
    assert newest.startswith(r"$'a\nb\x1b[31m\'c'  receipt     1  ")
    assert newest.endswith("  OSError: no route to nobody")
    assert oldest.startswith("order:17            receipt     1    ")
    assert 60 <= float(oldest.split()[3]) < 70


def test_list_as_json(bury, queue, url, call):
    bury("a", NASTY)
    queue.requeue("a")
    queue.clock.advance(1)
    queue.promote()
    queue.fail(*queue.claim("w2"), "once more", permanent=True)
    told = json.loads(call("dead", "list", "mail", "--json")[1])
    assert {name: told[name] for name in ("queue", "total", "offset")} == {"queue": "mail", "total": 2, "offset": 0}
    first, second = told["letters"]
    assert first.pop("buried").endswith("Z")
    error = {"type": None, "message": "once more"}
    assert first == {"id": "a", "task": "receipt", "runs": 1, "replays": 1, "error": error}
    assert second["id"] == NASTY
    assert second["error"] == {"type": "OSError", "message": "no route to nobody"}


def test_list_in_pages(bury, url, call):
    bury(*(f"job-{n:02}" for n in range(25)))
    status, out, err = call("dead", "list", "mail")
    assert (status, len(out.splitlines())) == (0, 21)
    assert err == "20 of 25; the next: --offset 20\n"
    status, out, err = call("dead", "list", "mail", "--offset", "20", "--limit", "10")
    assert (status, len(out.splitlines()), err) == (0, 6, "")
    assert call("dead", "list", "mail", "--offset", "25") == (0, "", "no dead letters in mail after the first 25\n")
    assert len(json.loads(call("dead", "list", "mail", "--limit", "3", "--json")[1])["letters"]) == 3


def test_a_letter_whose_record_is_gone_is_listed(bury, redis, queue, url, call):
    bury("a")
    redis.delete(queue.keys.job + "a")
    assert call("dead", "list", "mail")[1].splitlines()[1].endswith("its record is gone")
    assert json.loads(call("dead", "list", "mail", "--json")[1])["letters"][0]["error"] is None
    assert call("dead", "requeue", "mail", "a") == (
        2,
        "0 dead letters requeued\n",
        "jobkit: not requeued: a (missing)\n",
    )


def test_no_dead_letters(queue, url, call):
    assert call("dead", "list", "mail") == (0, "", "no queue mail here yet\n")
    queue.submit("receipt")
    assert call("dead", "list", "mail") == (0, "", "no dead letters in mail\n")
    assert json.loads(call("dead", "list", "mail", "--json")[1])["letters"] == []


@pytest.mark.parametrize("arguments", [("--limit", "0"), ("--limit", "10001"), ("--limit", "x"), ("--offset", "-1")])
def test_a_page_that_cannot_be(arguments, url, call):
    status, out, err = call("dead", "list", "mail", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "arguments", [("dead", "list", "mail"), ("dead", "show", "mail", "a"), ("stats", "mail", "--json")]
)
def test_a_reader_that_has_seen_enough_is_no_error(arguments, bury, url, tmp_path):
    bury("a")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "jobkit", *arguments]
    env = {**os.environ, "JOBKIT_REDIS": url}
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        assert process.stderr.read() == b""


# -- show ------------------------------------------------------------------------


def test_show_tells_all_that_happened(queue, worker, url, call):
    queue.submit("receipt", {"to": "nobody"}, id=NASTY, max_attempts=2, priority=3, entity="ada")
    worker.step()
    queue.clock.advance(5)
    worker.step()
    status, out, err = call("dead", "show", "mail", NASTY)
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[:6] == [
        r"id        $'a\nb\x1b[31m\'c'",
        "task      receipt",
        "state     dead",
        "attempts  2 of 2",
        "priority  3",
        "entity    ada",
    ]
    assert lines[8:12] == ["payload   15 bytes", '  {"to":"nobody"}', "", "history"]
    assert "attempt 1: retry, again in 5 s (OSError: no route to nobody)" in out
    assert "attempt 2: dead (OSError: no route to nobody)" in out
    assert out.count("Traceback (most recent call last):") == 2
    assert out.count('raise OSError("no route to nobody")') == 2


def test_show_as_json_is_whole(queue, worker, url, call):
    payload = bytes(range(256)) * 100
    queue.submit("receipt", payload, id="a", max_attempts=1)
    worker.step()
    told = json.loads(call("dead", "show", "mail", "a", "--json")[1])
    assert base64.b64decode(told["payload"]) == payload
    assert told["payload_encoding"] == "base64"
    assert [event["outcome"] for event in told["history"]] == ["dead"]
    assert told["history"][0]["error"]["type"] == "JobError"
    assert (told["state"], told["attempt"], told["max_attempts"], told["entity"]) == ("dead", 1, 1, None)


@pytest.mark.parametrize(
    ("payload", "lines"),
    [
        (b"", ["payload   none"]),
        (b"x", ["payload   1 byte", "  x"]),
        ({"to": "größe"}, ["payload   16 bytes", '  {"to":"größe"}']),
        (b"a\x1b[2Jb", ["payload   6 bytes, binary, in hex", "  61 1b 5b 32 4a 62"]),
        (b"\xff" * 1000, ["payload   1,000 bytes, binary, in hex, the first 240", "  " + "ff " * 24 + "ff"]),
        (b"text " * 1000, ["payload   5,000 bytes, the first 2,000 characters"]),
    ],
)
def test_a_payload_is_shown_as_what_it_is(payload, lines, queue, url, call):
    queue.submit("receipt", payload, id="a", delay=60)
    _, out, _ = call("dead", "show", "mail", "a")
    shown = out.splitlines()
    at = shown.index(lines[0])
    assert shown[at : at + len(lines)] == lines
    assert "\x1b" not in out
    assert len(out) < 3500
    assert shown[2] == "state     scheduled"
    assert shown[-1] == "history   none yet"


def test_text_that_plays_tricks_is_escaped(queue, url, call):
    queue.submit("receipt\x1b[2J", id="\u202eevil", max_attempts=1)
    queue.fail(*queue.claim("w"), OSError("\x1b]0;owned\x07\u202e"))
    for arguments in (("list", "mail"), ("show", "mail", "\u202eevil")):
        status, out, _ = call("dead", *arguments)
        assert status == 0
        assert not any(char in out for char in "\x1b\x07\u202e")
        assert r"\x1b]0;owned\x07\u202e" in out


def test_an_unknown_job(url, call):
    status, out, err = call("dead", "show", "mail", "nope")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert "no job 'nope'" in err


# -- requeue ---------------------------------------------------------------------


def test_requeue_gives_another_life(queue, bury, url, call):
    bury("a", "b", NASTY)
    assert call("dead", "requeue", "mail", "a", NASTY, "a") == (0, "2 dead letters requeued\n", "")
    assert ids(queue) == ["b"]
    job = queue.get(NASTY)
    assert (job.payload, job.attempt) == (b'{"to":"nobody"}', 0)
    assert [event.outcome for event in queue.history(NASTY)] == ["dead", "requeued"]


def test_requeue_over_a_time_spreads(queue, bury, redis, url, call):
    bury("a", "b", "c", "d")
    status, out, _ = call("dead", "requeue", "mail", "--all", "--yes", "--over", "60")
    assert (status, out) == (0, "4 dead letters requeued, over 60 s\n")
    due = [score for _, score in redis.zrange(queue.keys.delayed, 0, -1, withscores=True)]
    assert [later - due[0] for later in due] == [0, 15_000, 30_000, 45_000]


def test_requeue_says_what_it_could_not_do(queue, bury, url, call):
    bury("a")
    queue.submit("receipt", id="waiting", delay=60)
    assert call("dead", "requeue", "mail", "nope", "a", "waiting") == (
        2,
        "1 dead letter requeued\n",
        "jobkit: not requeued: nope (missing), waiting (scheduled)\n",
    )
    assert ids(queue) == []


def test_requeue_never_shortens_a_history(redis, url, call):
    queue = jk.Queue(redis, "mail", history_max=50, max_attempts=20)
    queue.submit("receipt", id="a")
    for _ in range(20):
        queue.promote()
        queue.fail(*queue.claim("w"), "no")
    assert call("dead", "requeue", "mail", "a")[0] == 0
    assert len(queue.history("a")) == 21


@pytest.mark.parametrize("over", ["nan", "inf", "1e99", "soon"])
def test_a_time_that_cannot_be_meant(over, queue, bury, url, call):
    bury("a")
    status, out, err = call("dead", "requeue", "mail", "--all", "--yes", "--over", over)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert ids(queue) == ["a"]


# -- purge -----------------------------------------------------------------------


def test_purge_drops_the_named(queue, bury, url, call):
    bury("a", "b", "c")
    queue.submit("receipt", id="waiting", delay=60)
    assert call("dead", "purge", "mail", "a", "b", "b", "nope", "waiting") == (
        2,
        "2 dead letters dropped\n",
        "jobkit: not dropped: nope (no dead letter), waiting (no dead letter)\n",
    )
    assert ids(queue) == ["c"]
    assert queue.get("waiting").state is jk.State.SCHEDULED
    with pytest.raises(jk.UnknownJob):
        queue.get("a")


def test_purge_drops_the_old(queue, bury, url, call):
    bury("old")
    queue.clock.advance(3600)
    bury("new")
    assert call("dead", "purge", "mail", "--older-than", "1800") == (0, "1 dead letter dropped\n", "")
    assert ids(queue) == ["new"]


@pytest.mark.parametrize("age", ["0", "-5", "0.0001", "nan", "inf", "1e99", "old"])
def test_an_age_that_cannot_be_meant_drops_nothing(age, queue, bury, url, call):
    bury("a")
    status, out, err = call("dead", "purge", "mail", f"--older-than={age}")
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert ids(queue) == ["a"]


# -- all of them -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("verb", "question"),
    [("requeue", "Requeue all 2 dead letters of mail?"), ("purge", "Drop all 2 dead letters of mail for good?")],
)
def test_all_asks_first(verb, question, queue, bury, url, call):
    bury("a", "b")
    assert call("dead", verb, "mail", "--all", answer="n\n") == (1, "", f"{question} [y/N] nothing was changed\n")
    assert call("dead", verb, "mail", "--all", answer="\n")[0] == 1
    for nobody in ("", None):
        status, out, err = call("dead", verb, "mail", "--all", answer=nobody)
        assert (status, out) == (2, "")
        assert err == f"{question} [y/N] \njobkit: nobody answers here: --all needs --yes\n"
    assert len(ids(queue)) == 2
    status, out, _ = call("dead", verb, "mail", "--all", answer="y\n")
    assert (status, out.split()[:3]) == (0, ["2", "dead", "letters"])
    assert ids(queue) == []
    assert call("dead", verb, "mail", "--all") == (0, "", "no dead letters: nothing to do\n")


@pytest.mark.parametrize("verb", ["requeue", "purge"])
def test_yes_asks_nothing(verb, queue, bury, url, call):
    bury("a", "b")
    status, out, err = call("dead", verb, "mail", "--all", "--yes", answer=None)
    assert (status, err) == (0, "")
    assert out.startswith("2 dead letters ")
    assert ids(queue) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("requeue", "mail"),
        ("requeue", "mail", "a", "--all"),
        ("purge", "mail"),
        ("purge", "mail", "--yes"),
        ("purge", "mail", "a", "--all"),
        ("purge", "mail", "a", "--older-than", "1"),
        ("purge", "mail", "--all", "--older-than", "1"),
    ],
)
def test_which_ones_must_be_said_once(arguments, queue, bury, url, call):
    bury("a")
    status, out, err = call("dead", *arguments)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("jobkit: which dead letters? Give one of ids, --all")
    assert ids(queue) == ["a"]


def test_a_group_alone_is_one_line(call):
    assert call("dead") == (2, "", "jobkit: Missing command (`jobkit dead --help` tells more)\n")
