"""get, history, counts: they tell, and change nothing."""

import json

import pytest
from support.keyspace import dump, server_ms
from support.seeds import ROWS, seed
from support.world import levels

from jobkit.errors import JobkitError, UnknownJob
from jobkit.history import Event
from jobkit.job import State
from jobkit.submission import New


@pytest.mark.parametrize("state", ROWS)
def test_reading_changes_nothing(queue, state):
    seed(queue, state)
    before = dump(queue.redis)
    for read in (queue.get, queue.history):
        try:
            read("j")
        except UnknownJob:
            assert state == "missing"
    queue.counts()
    queue.dead()
    assert dump(queue.redis) == before


@pytest.mark.parametrize("state", ROWS)
def test_levels(queue, state):
    expected = {"missing": (0, 0, 0, 0), "cancelled while ready": (0, 1, 0, 0)}
    word = ROWS[state].split()[0]
    seed(queue, state)
    assert levels(queue) == expected.get(
        state, tuple(int(word == s) for s in ("scheduled", "ready", "running", "dead"))
    )


def test_counts_of_an_empty_queue(queue):
    counts = queue.counts()
    assert (levels(queue), counts.wait, counts.totals) == ((0, 0, 0, 0), None, {})


def test_counts_tell_when_the_next_is_due(queue):
    queue.submit_many([New("t", delay=20), New("t", delay=10)])
    assert queue.counts().wait == pytest.approx(10, abs=2)
    queue.redis.clock.advance(15)
    assert queue.counts().wait == 0


def test_every_total(queue):
    queue.submit_many([New("t", id=f"j{n}", max_attempts=1 if n in {3, 4} else 5) for n in range(9)])
    claims = queue.claim("w", 7)
    queue.ack(claims[0])
    queue.fail(claims[1], "x", delay=9)
    queue.release(claims[2])
    queue.fail(claims[3], "x")
    queue.fail(claims[4], "x")
    queue.fail(claims[5], "x", permanent=True)
    queue.redis.clock.advance(31)
    queue.recover()
    queue.cancel("j7")
    queue.cancel("j1")
    queue.requeue("j3")
    queue.purge("j5")
    assert queue.counts().totals == {
        "submitted": 9,
        "done": 1,
        "retried": 1,
        "released": 1,
        "dead": 3,
        "recovered": 1,
        "cancelled": 2,
        "requeued": 1,
        "dropped": 1,
    }
    assert levels(queue) == (1, 4, 0, 1)


def test_a_history_from_submit_to_done(queue):
    queue.submit("t", id="j")
    before = server_ms(queue.redis)
    (claim,) = queue.claim("w")
    queue.fail(claim, ValueError("no"), delay=5)
    after = server_ms(queue.redis)
    (event,) = queue.history("j")
    assert before <= event.started <= event.ended <= after
    assert (event.attempt, event.outcome, event.delay_ms) == (1, "retry", 5000)
    assert queue.get("j").run_at == event.ended + 5000
    queue.redis.clock.advance(5)
    queue.promote()
    queue.release(*queue.claim("w"))
    queue.claim("w")
    queue.redis.clock.advance(31)
    queue.recover()
    queue.ack(*queue.claim("w"))
    assert [(event.outcome, event.attempt) for event in queue.history("j")] == [
        ("retry", 1),
        ("released", 2),
        ("recovered", 2),
        ("done", 3),
    ]
    moments = [moment for event in queue.history("j") for moment in (event.started, event.ended)]
    assert moments == sorted(moments)


def test_how_an_error_is_kept(queue):
    def handler():
        raise KeyError("ключ")

    queue.submit("t", id="j")
    (claim,) = queue.claim("w")
    try:
        handler()
    except KeyError as error:
        queue.fail(claim, error)
    error = queue.history("j")[0].error
    assert (error["type"], error["message"]) == ("KeyError", "'ключ'")
    assert "in handler" in error["traceback"]
    assert error["traceback"].endswith("KeyError: 'ключ'\n")


def test_an_error_of_any_size_is_bounded(queue):
    queue.submit("t", id="j", max_attempts=1000)
    for _ in range(12):
        queue.fail(*queue.claim("w"), ValueError("\x00\ud800 é" * 1_000_000))
        queue.promote()
    error = queue.history("j")[-1].error
    assert len(error["message"]) <= 500
    assert len(error["traceback"]) <= 2100
    assert len(queue.history("j")) == 10
    assert sum(map(len, queue.redis.hvals(queue.keys.job + "j"))) < 200_000


@pytest.mark.parametrize("text", ["", "plain", "two words", '{"json": 1}', "5", "\n\x00\ud800", "é" * 400])
def test_an_error_in_plain_words(queue, text):
    queue.submit("t", id="j")
    queue.fail(*queue.claim("w"), text)
    assert queue.history("j")[0].error["message"] == text


def test_an_error_that_cannot_say_itself(queue):
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    queue.submit("t", id="j")
    assert queue.fail(*queue.claim("w"), MuteError()) == State.SCHEDULED
    assert queue.history("j")[0].error["type"] == "MuteError"


SENTENCES = [
    (Event(0, 1, 2, "retry", 5300, {"type": "E", "message": "x"}), "attempt 2: retry, again in 5.3 s (E: x)"),
    (Event(0, 1, 5, "dead", 0, {"type": "KeyError", "message": ""}), "attempt 5: dead (KeyError)"),
    (Event(0, 1, 0, "requeued", 0), "requeued, again in 0 ms"),
    (Event(0, 1, 1, "recovered", 0, {"message": "held by w"}), "attempt 1: recovered (held by w)"),
    (Event(0, 1, 1, "done"), "attempt 1: done"),
]  # fmt: skip


@pytest.mark.parametrize(("event", "said"), SENTENCES, ids=[said for _, said in SENTENCES])
def test_an_event_reads_as_a_sentence(event, said):
    assert str(event) == said


def test_a_payload_that_is_no_json_object_is_an_error_when_it_is_read(queue):
    for payload in (b"\xff", b"[1]", b"null", b"5", json.dumps("text").encode()):
        job = queue.get(queue.submit("t", payload).id)
        assert job.payload == payload
        with pytest.raises(JobkitError, match="raw=True"):
            _ = job.args
