"""claim: ready -> running, with an attempt counted and a token minted."""

import pytest
from support.keyspace import server_ms
from support.stores import pop_newest
from support.table import Change, check, complete
from support.world import levels, row, rows, totals

from jobkit.job import Claim, State
from jobkit.submission import New

CLAIM = complete(
    {
        "ready": Change([("j", 1, 1)], "running 1/5 #1 [running 1]"),
        "promoted": Change([("j", 1, 1)], "running 1/5 #1 [running 1]"),
        "released": Change([("j", 2, 1)], "running 1/5 #2 [released 1, running 1]"),
        "recovered": Change([("j", 2, 2)], "running 2/5 #2 [recovered 1, running 2]"),
        "submitted anew": Change([("j", 2, 1)], "running 1/5 #2 [running 1]"),
        "cancelled while ready": Change([], "cancelled 0/5, expires"),
    },
    otherwise=[],
)


@pytest.mark.parametrize(("state", "expected"), CLAIM)
def test_claim(queue, state, expected):
    def act(queue, _):
        return [(claim.id, claim.token, claim.attempt) for claim in queue.claim("w")]

    check(queue, state, act, expected)


def test_what_a_claim_carries(queue):
    queue.submit("mail", {"to": "ada"}, id="j", priority=2, entity="e", max_attempts=3)
    job = queue.get("j")
    (claim,) = queue.claim("worker 1")
    fields = ("j", "mail", b'{"to":"ada"}', 1, 3, job.created, job.created, 2, "e", State.RUNNING, job.nonce)
    assert claim == Claim(*fields, token=1, worker="worker 1")
    assert claim.args == {"to": "ada"}


def test_in_order_and_at_most_the_limit(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(7)])
    assert [[claim.id for claim in queue.claim("w", 3)] for _ in range(4)] == [
        ["j0", "j1", "j2"],
        ["j3", "j4", "j5"],
        ["j6"],
        [],
    ]
    assert levels(queue) == (0, 0, 7, 0)


def test_one_at_a_time_is_the_default(queue):
    queue.submit_many([New("t")] * 3)
    assert len(queue.claim("w")) == 1


def test_each_job_once_whoever_asks(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(30)])
    claims = [claim for n in range(12) for claim in queue.claim(f"w{n % 4}", 3)]
    assert sorted(claim.id for claim in claims) == sorted(f"j{n}" for n in range(30))


def test_tokens_only_grow_also_over_the_lives_of_jobs(queue):
    tokens = []
    for _ in range(3):
        queue.submit_many([New("t", id=f"j{n}") for n in range(5)])
        claims = queue.claim("w", 2) + queue.claim("w", 5)
        tokens += [claim.token for claim in claims]
        for claim in claims:
            queue.ack(claim)
        queue.redis.clock.advance(3601)
    assert len(tokens) == 15
    assert tokens == sorted(set(tokens))


def test_a_run_begins_at_the_claim(queue):
    queue.submit("t", id="j")
    queue.redis.clock.advance(5)
    before = server_ms(queue.redis)
    queue.claim("w")
    (event,) = queue.history("j")
    assert before <= event.started <= server_ms(queue.redis)
    assert event.ended == event.started


def test_ack_and_claim_is_one_step(queue):
    queue.submit_many([New("t", id=id) for id in "abc"])
    answers, claims = queue.ack_and_claim([], "w", 2)
    assert (answers, [claim.id for claim in claims]) == ([], ["a", "b"])
    answers, claims = queue.ack_and_claim(claims, "w", 2)
    assert (answers, [claim.id for claim in claims]) == (["done", "done"], ["c"])
    old = claims[0]
    queue.redis.clock.advance(31)
    queue.recover()
    (new,) = queue.claim("w2")
    assert queue.ack_and_claim([old], "w") == (["stale"], [])
    assert queue.ack_and_claim([new], "w2") == (["done"], [])
    assert totals(queue) == {"submitted": 3, "done": 3, "recovered": 1}


def test_ack_and_claim_looks_past_cancelled_jobs(queue):
    queue.submit_many([New("t", id=f"j{n}") for n in range(10)])
    (first,) = queue.claim("w")
    for n in range(1, 9):
        queue.cancel(f"j{n}")
    answers, claims = queue.ack_and_claim([first], "w")
    assert (answers, [claim.id for claim in claims]) == (["done"], ["j9"])
    assert levels(queue) == (0, 0, 1, 0)


def test_a_take_of_ones_own(make_queue):
    plain = make_queue()
    queue = make_queue(take=lambda client, _keys, limit: pop_newest(client, plain, limit))
    queue.submit_many([New("t", id=id) for id in "abc"])
    claims = queue.claim("w", 2)
    assert [(claim.id, claim.token, claim.attempt) for claim in claims] == [("c", 1, 1), ("b", 2, 1)]
    queue.ack(claims[0])
    assert rows(queue) == {
        "a": "ready 0/5",
        "b": "running 1/5 #2 [running 1]",
        "c": "done 1/5 #1 [done 1], expires",
    }
    queue.fail(claims[1], "x", delay=3)
    assert row(queue, "b") == "scheduled 1/5 #2 [retry 1]"


def test_a_take_that_finds_nothing_claims_nothing(make_queue):
    plain = make_queue()
    plain.submit_many([New("t", id=id) for id in "ab"])
    (claim,) = plain.claim("w")
    queue = make_queue(take=lambda *_: [])
    assert queue.claim("w") == []
    assert queue.ack_and_claim([claim], "w") == (["done"], [])
    assert row(queue, "b") == "ready 0/5"
