"""A lost reply is answered by the same call again, except for the claim, which is never sent twice.

The client sends again by itself (redis-py's retry): so each verb, with one reply lost, must answer
as without the loss, and leave the same whole state.
"""

import re
from random import Random

import pytest
import redis as redis_py
from support.keyspace import dump
from support.seeds import seed
from support.wire import Wire
from support.world import levels, row

from jobkit.submission import New

VERBS = {
    "submit, own id": ("missing", lambda queue, _: queue.submit("t", id="j")),
    "submit, fresh id": ("missing", lambda queue, _: queue.submit("t")[1:]),
    "submit, delayed": ("missing", lambda queue, _: queue.submit("t", id="j", delay=9)),
    "submit, known id": ("scheduled", lambda queue, _: queue.submit("t", id="j")),
    "submit_many": ("missing", lambda queue, _: queue.submit_many([New("t", id="j"), New("t", id="k", delay=1)])),
    "promote": ("due", lambda queue, _: queue.promote() and None),
    "ack": ("running", lambda queue, claim: queue.ack(claim)),
    "ack, asked to stop": ("asked to stop", lambda queue, claim: queue.ack(claim)),
    "fail": ("running", lambda queue, claim: queue.fail(claim, "x", delay=9)),
    "fail, last run": ("last run", lambda queue, claim: queue.fail(claim, "x")),
    "fail for good": ("running", lambda queue, claim: queue.fail(claim, "x", permanent=True)),
    "fail, asked to stop": ("asked to stop", lambda queue, claim: queue.fail(claim, "x")),
    "refuse": ("running", lambda queue, claim: queue.refuse(claim, "x")),
    "extend": ("running", lambda queue, claim: queue.extend(claim)),
    "release": ("running", lambda queue, claim: queue.release(claim)),
    "release, asked to stop": ("asked to stop", lambda queue, claim: queue.release(claim)),
    "cancel, scheduled": ("scheduled", lambda queue, _: queue.cancel("j")),
    "cancel, ready": ("ready", lambda queue, _: queue.cancel("j")),
    "cancel, running": ("running", lambda queue, _: queue.cancel("j")),
    "recover": ("late", lambda queue, _: queue.recover() and None),
    "recover, last run": ("late, last run", lambda queue, _: queue.recover() and None),
    "requeue": ("dead", lambda queue, _: queue.requeue("j")),
    "purge": ("dead", lambda queue, _: (queue.purge("j"), None)[1]),
    "get": ("running", lambda queue, _: queue.get("j").state),
    "counts": ("ready", lambda queue, _: queue.counts().ready),
    "tidy": ("dead", lambda queue, _: queue.tidy()),
}
"""Name -> the state that the verb finds, and the verb. promote, recover, purge say what this very
call moved, which a call that is sent again cannot know: there only the state is compared."""


def whole(redis):
    """The whole state, comparable with another run's: moments, and ids of entries, are left out."""
    return re.sub(r"\d{13}(-\d+)?(\.0)?", "T", repr(dump(redis)))


@pytest.mark.parametrize(("known", "lost"), [(True, 1), (False, 1), (False, 2)], ids=["EVALSHA", "NOSCRIPT", "EVAL"])
@pytest.mark.parametrize("verb", VERBS)
def test_the_same_answer_and_state_as_without_the_loss(make_queue, redis, verb, known, lost):
    state, act = VERBS[verb]

    def run(lose):
        redis.flushall()
        wire = Wire()
        claim = seed(make_queue(rng=Random(4)), state)
        if not known:
            redis.script_flush()
        wire.lose = lose
        answer = act(make_queue(client=wire.client(redis), rng=Random(5)), claim)
        assert wire.lost == min(lose, 1)
        return answer, whole(redis)

    assert run(lose=0) == run(lose=lost)


def test_what_many_submits_lose(make_queue, redis):
    """The reply to the second of three scripts is lost: 1,001 jobs, each once, each said to be new."""
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    queue.counts()
    queue.submit("t", id="first")
    wire.lose = 2
    answers = queue.submit_many([New("t", id=f"j{n}", delay=n % 2) for n in range(1001)])
    assert wire.lost == 1
    assert [answer.created for answer in answers] == [True] * 1001
    assert [answer.state for answer in answers[:2]] == ["ready", "scheduled"]
    assert levels(queue) == (500, 502, 0, 0)


def test_a_second_call_with_an_id_is_no_lost_reply(queue):
    assert queue.submit("t", id="j").created
    assert not queue.submit("t", id="j").created


def test_requeue_counts_one_replay(make_queue, redis):
    seed(make_queue(), "dead")
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    queue.requeue()
    queue.promote()
    queue.fail(*queue.claim("w"), "x", permanent=True)
    wire.lose = 1
    assert queue.requeue("j") == {"j": "requeued"}
    assert wire.lost == 1
    assert queue.counts().totals["requeued"] == 2


# -- the claim ------------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False])
def test_a_claim_is_never_sent_twice_and_costs_what_a_crash_costs(make_queue, redis, known):
    plain = make_queue()
    plain.submit_many([New("t", id=id) for id in "ab"])
    if known:
        plain.release(*plain.claim("w"))
    else:
        redis.script_flush()
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    wire.lose = 1 if known else 2
    before = wire.scripts()
    with pytest.raises(redis_py.ConnectionError, match="lost"):
        queue.claim("w")
    assert wire.scripts() - before == (1 if known else 2)
    assert levels(plain) == (0, 1, 1, 0)
    redis.clock.advance(31)
    assert plain.recover() == (1, 0)
    claims = plain.claim("w", 5) + plain.claim("w", 5)
    assert sorted((claim.id, claim.attempt) for claim in claims) in ([("a", 2), ("b", 1)], [("a", 1), ("b", 2)])


def test_ack_and_claim_is_never_sent_twice_but_its_acks_may_be(make_queue, redis):
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    queue.submit_many([New("t", id=id) for id in "abc"])
    done = queue.claim("w")
    (done,) = queue.ack_and_claim(done, "w")[1]
    before = wire.scripts()
    wire.lose = 1
    with pytest.raises(redis_py.ConnectionError, match="lost"):
        queue.ack_and_claim([done], "w")
    assert wire.scripts() == before + 1
    assert queue.each("ack", [done]) == ["done"]
    assert levels(queue) == (0, 0, 1, 0)
    assert row(queue, "c") == "running 1/5 #3 [running 1]"


@pytest.mark.parametrize("times", [2, 3])
def test_some_losses_in_a_row(make_queue, redis, times):
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    queue.submit("t", id="first")
    wire.lose, wire.row = 1, times
    assert queue.submit("t", id="j") == ("j", True, "ready")
    assert wire.lost == times
    assert levels(queue) == (0, 2, 0, 0)
