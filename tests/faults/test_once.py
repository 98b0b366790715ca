"""An effect and its mark: one step, whatever dies, and whoever comes late."""

import pytest
from redis.exceptions import ResponseError
from support.wire import Wire

import jobkit as jk


@pytest.fixture
def queue(redis):
    return jk.Queue(redis, "bank")


def claimed(queue, id="a"):
    queue.submit("pay", id=id)
    (claim,) = queue.claim("w")
    return claim


def till(queue):
    return int(queue.redis.get(jk.effect_key(queue, "till")) or 0)


def pay(queue, claim, **named):
    return jk.once(queue, claim, ("INCRBY", jk.effect_key(queue, "till"), 5), **named)


def test_an_effect_is_applied_once_per_job(queue):
    claim = claimed(queue)
    assert pay(queue, claim)
    assert pay(queue, claim)  # the same claim asks again, as after a lost reply: the same answer
    assert till(queue) == 5


def test_a_later_run_learns_that_it_was_applied_before(queue):
    pay(queue, claimed(queue))
    queue.clock.advance(31)
    queue.recover()
    (again,) = queue.claim("v")
    assert not pay(queue, again)
    assert till(queue) == 5
    queue.ack(again)


def test_a_zombie_has_no_effect(queue):
    zombie = claimed(queue)
    queue.clock.advance(31)
    queue.recover()
    with pytest.raises(jk.StaleClaim):
        pay(queue, zombie)
    (again,) = queue.claim("v")
    with pytest.raises(jk.StaleClaim):
        pay(queue, zombie)
    assert pay(queue, again)
    assert till(queue) == 5


def test_each_name_is_an_effect_of_its_own(queue):
    claim = claimed(queue)
    assert [pay(queue, claim, name=name) for name in ("debit", "credit", "debit")] == [True, True, True]
    assert till(queue) == 10


def test_several_commands_are_one_effect(queue):
    claim, till_key, log = claimed(queue), jk.effect_key(queue, "till"), jk.effect_key(queue, "log")
    assert jk.once(queue, claim, ("INCRBY", till_key, 5), ("RPUSH", log, "a", b"\x00\xff"), ["PEXPIRE", log, 60_000])
    assert till(queue) == 5
    assert queue.redis.lrange(log, 0, -1) == [b"a", b"\x00\xff"]


def test_the_mark_goes_with_the_record_and_a_new_job_of_that_id_is_a_new_job(queue):
    claim = claimed(queue)
    pay(queue, claim)
    queue.ack(claim)
    queue.clock.advance(3601)
    assert pay(queue, claimed(queue))
    assert till(queue) == 10


def test_a_lost_reply_changes_nothing(redis):
    wire = Wire()
    queue = jk.Queue(wire.client(redis), "bank")
    claim = claimed(queue)
    pay(queue, claimed(queue, "warm-up"))
    wire.lose = 1
    assert pay(queue, claim)
    assert wire.lost == 1
    assert till(queue) == 10


def test_an_effect_that_redis_refuses_is_not_marked(queue):
    claim = claimed(queue)
    queue.redis.rpush(jk.effect_key(queue, "till"), "a list")
    with pytest.raises(ResponseError):
        pay(queue, claim)
    queue.redis.delete(jk.effect_key(queue, "till"))
    assert pay(queue, claim)


@pytest.mark.parametrize(
    "effects",
    [
        [],
        ["INCR"],
        [()],
        [("INCR",)],
        [("INCR", "till")],
        [("INCR", "{other}:till")],
        [("INCR", "x{bank")],
        [(b"INCR", "{bank}:till")],
        [("INCR", 5)],
        [None],
    ],
)
def test_what_is_no_effect_is_refused_before_anything_is_written(queue, effects):
    claim = claimed(queue)
    before = queue.redis.hgetall("{bank}:job:a")
    with pytest.raises(jk.JobError):
        jk.once(queue, claim, *effects)
    assert queue.redis.hgetall("{bank}:job:a") == before


def mark_first(queue, claim):
    if queue.redis.set("mark", 1, nx=True):
        yield  # a place to die
        queue.redis.incr(jk.effect_key(queue, "till"))


def mark_last(queue, claim):
    if not queue.redis.exists("mark"):
        queue.redis.incr(jk.effect_key(queue, "till"))
        yield
        queue.redis.set("mark", 1)


def one_step(queue, claim):
    jk.once(queue, claim, ("INCR", jk.effect_key(queue, "till")))
    yield


@pytest.mark.parametrize(("handler", "effects"), [(mark_first, [1, 0]), (mark_last, [1, 2]), (one_step, [1, 1])])
def test_three_orders_without_and_with_a_death_between_the_steps(redis, handler, effects):
    seen = []
    for deaths in (0, 1):
        redis.flushall()
        queue = jk.Queue(redis, "bank")
        claim = claimed(queue)
        for run in range(deaths + 1):
            for _ in handler(queue, claim):
                if run < deaths:
                    break
            claim = claim if run == deaths else _next_claim(queue)
        seen.append(till(queue))
    assert seen == effects


def _next_claim(queue):
    queue.clock.advance(31)
    queue.recover()
    return queue.claim("v")[0]


def test_the_key_for_others_is_the_same_for_every_run_of_a_job_and_of_no_other(queue):
    first = claimed(queue)
    again = _next_claim(queue)
    assert first.idempotency_key == again.idempotency_key == queue.get("a").idempotency_key
    queue.ack(again)
    queue.clock.advance(3601)
    anew = claimed(queue)
    assert anew.idempotency_key != first.idempotency_key
    queue.submit("pay")
    assert queue.claim("w")[0].idempotency_key
