"""A server loses its scripts, a stream, a group, or all it had: no job is lost that still has its record."""

import pytest
import redis as redis_py
from support.seeds import seed
from support.stores import forget
from support.wire import Wire
from support.world import levels, row, rows

from jobkit.connect import node_of
from jobkit.errors import JobkitError, StaleClaim
from jobkit.submission import New


def test_scripts_forgotten_before_every_call(make_queue, redis):
    wire = Wire(names=("EVALSHA",))
    queue = make_queue(client=wire.client(redis))
    wire.before = redis.script_flush
    queue.submit_many([New("t", id=id, delay=5, max_attempts=2) for id in "abcd"])
    redis.clock.advance(5)
    queue.promote()
    a, b, c, d = queue.claim("w", 4)
    queue.ack(a)
    queue.fail(b, "x")
    queue.extend(c)
    queue.release(c)
    queue.cancel("c")
    assert queue.ack_and_claim([], "w") == ([], [])
    redis.clock.advance(31)
    assert queue.recover() == (1, 0)
    queue.fail(*queue.claim("w"), "x")
    queue.requeue("d")
    queue.tidy()
    assert queue.repair() == []
    assert d.id == "d"
    assert {id: said.split()[0] for id, said in rows(queue).items()} == {
        "a": "done",
        "b": "scheduled",
        "c": "cancelled",
        "d": "scheduled",
    }
    assert sum(args[0] == "EVAL" for args in wire.sent) == wire.scripts() / 2


def test_a_claim_that_the_server_does_not_know_is_sent_whole_once(make_queue, redis):
    wire = Wire()
    queue = make_queue(client=wire.client(redis))
    queue.submit_many([New("t")] * 3)
    redis.script_flush()
    assert len(queue.claim("w")) == 1
    assert [args[0] for args in wire.sent if args[0] in wire.names][-2:] == ["EVALSHA", "EVAL"]
    assert levels(queue) == (0, 2, 1, 0)


@pytest.mark.parametrize("what", ["all", "holders"])
@pytest.mark.parametrize("verb", ["submit", "claim", "ack", "fail", "extend", "release", "cancel", "recover", "counts"])
def test_no_verb_breaks(queue, what, verb):
    queue.submit("t", id="other")
    claim = seed(queue, "running") if verb else None
    queue.claim("w")
    claim, *_ = [claim, *queue.claim("w")]
    forget(queue, what)
    acts = {
        "submit": lambda: queue.submit("t", id="new"),
        "claim": lambda: queue.claim("w", 5),
        "ack": lambda: queue.ack(claim),
        "fail": lambda: queue.fail(claim, "x"),
        "extend": lambda: queue.extend(claim),
        "release": lambda: queue.release(claim),
        "cancel": lambda: queue.cancel("j"),
        "recover": queue.recover,
        "counts": queue.counts,
    }
    acts[verb]()
    queue.repair()
    finish(queue)


def finish(queue):
    """Run all that there is; nothing is left, and everything ended once."""
    for _ in range(20):
        queue.redis.clock.advance(31)
        queue.promote()
        queue.recover()
        for claim in queue.claim("last", 10):
            queue.ack(claim)
    assert levels(queue) == (0, 0, 0, 0)
    assert {said.split()[0] for said in rows(queue).values()} <= {"done", "cancelled"}


@pytest.mark.parametrize("limit", [1, 2])
def test_no_attempt_beyond_the_limit_when_nobody_knows_who_holds_what(queue, limit):
    """And no two hold the job: whoever held it is fenced as soon as it is handed out anew."""
    queue.submit("t", id="j", max_attempts=limit)
    held = queue.claim("w1")
    for n in range(4):
        forget(queue, "holders")
        queue.repair()
        held += queue.claim(f"w{n}", 5)
    assert [claim.attempt for claim in held] == [*range(1, limit + 1)]
    assert row(queue).startswith(f"dead {limit}/{limit}")
    assert queue.each("ack", held) == ["stale"] * limit


def test_tokens_grow_though_their_counter_is_gone(queue):
    queue.submit_many([New("t", id=id) for id in "abcj"])
    *_, old = queue.claim("w1", 4)
    queue.redis.clock.advance(31)
    queue.recover()
    queue.redis.delete(queue.keys.tokens)
    new = [claim for n in range(4) for claim in queue.claim(f"w{n}")]
    assert next(claim.token for claim in new if claim.id == old.id) > old.token
    with pytest.raises(StaleClaim):
        queue.ack(old)


@pytest.mark.parametrize("verb", ["ack", "fail", "extend", "release"])
def test_everything_is_gone(queue, verb):
    queue.submit_many([New("t"), New("t", delay=9)])
    (claim,) = queue.claim("w")
    queue.redis.flushall()
    with pytest.raises(StaleClaim):
        getattr(queue, verb)(*([claim, "x"] if verb == "fail" else [claim]))
    assert queue.redis.dbsize() == 0
    assert (queue.claim("w"), queue.recover(), queue.promote(), queue.repair()) == ([], (0, 0), (0, None), [])
    queue.submit("t", id="again")
    assert [claim.id for claim in queue.claim("w")] == ["again"]


@pytest.mark.live_only("the fake has no maxmemory")
def test_out_of_memory_refuses_a_job_and_leaves_nothing_behind(queue, redis):
    queue.submit("t", id="first")
    (claim,) = queue.claim("w")
    before = sorted(redis.keys())
    there = node_of(redis, queue.keys.job)
    redis.config_set("maxmemory", 1, **there)
    try:
        for submit in (lambda: queue.submit("t", id="j"), lambda: queue.submit_many([New("t")] * 3)):
            with pytest.raises(redis_py.ResponseError, match=r"OOM|maxmemory"):
                submit()
        assert sorted(redis.keys()) == before
    finally:
        redis.config_set("maxmemory", 0, **there)
    queue.ack(claim)


def test_a_key_of_another_type_is_an_error_that_says_so(queue, redis):
    redis.set(queue.keys.delayed, "mine")
    with pytest.raises(redis_py.ResponseError, match="WRONGTYPE") as caught:
        queue.submit("t", delay=5)
    assert not isinstance(caught.value, JobkitError)
    redis.flushall()
