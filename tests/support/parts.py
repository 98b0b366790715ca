"""The kit's own operations, and the states of a job in which two of them may meet."""

from dataclasses import dataclass

from support.operations import LEASE, staff
from support.stores import put, structures

from jobkit.once import effect_key, once
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler

AGE = 10
"""Seconds that a claim of a set-up is old, so that a renewed lease shows."""


# -- where a job is when the two meet ------------------------------------------------------------------


def submitted(**how):
    return lambda queue: queue.submit("ok", id="j", **how)


def due(queue):
    queue.submit("ok", id="j", delay=5)
    queue.redis.clock.advance(5)


def running(queue, **how):
    queue.submit("ok", id="j", **how)
    queue.claim("A")
    queue.redis.clock.advance(AGE)


def beside_another(queue):
    running(queue)
    queue.submit("ok", id="k")


def late(queue, **how):
    running(queue, **how)
    queue.redis.clock.advance(LEASE)


def taken_over(queue, by):
    late(queue)
    queue.recover()
    queue.claim(by)
    queue.redis.clock.advance(AGE)


def asked_to_stop(queue, prepare=running):
    prepare(queue)
    queue.cancel("j")


def due_for_retry(queue):
    queue.submit("ok", id="j")
    queue.fail(queue.claim("A")[0], "boom", delay=5)
    queue.redis.clock.advance(5)


def dead(queue):
    queue.submit("ok", id="j")
    queue.fail(queue.claim("A")[0], "boom", permanent=True)


def lost(queue):
    queue.submit("ok", id="j")
    queue.redis.delete(*structures(queue))
    queue.redis.clock.advance(1)


def lane(queue, prepare=lambda queue: None, **how):
    """Put three jobs of one entity into a queue, and do something with the first."""
    for id in "jkl":
        queue.submit("ok", id=id, entity="e", **how)
    prepare(queue)


def held(queue):
    queue.claim("A")
    queue.redis.clock.advance(AGE)


def held_too_long(queue):
    queue.claim("A")
    queue.redis.clock.advance(AGE + LEASE)


def buried(queue):
    queue.fail(queue.claim("A")[0], "boom", permanent=True)


def forgotten(queue):
    queue.redis.delete(queue.keys.lanes, queue.keys.waiting, *structures(queue))
    queue.redis.clock.advance(1)


def evicted(queue):
    queue.redis.delete(queue.keys.job + "j", *structures(queue))
    queue.redis.hincrby(queue.keys.totals, "submitted", -1)


LANES = {
    "a lane of three": lane,
    "a lane, its head running": lambda queue: lane(queue, held),
    "a lane, its head late": lambda queue: lane(queue, held_too_long),
    "a lane, its head late, last run": lambda queue: lane(queue, held_too_long, max_attempts=1),
    "a lane, its first one dead": lambda queue: lane(queue, buried),
    "a lane, its head in no structure": lambda queue: lane(queue, evicted),
    "a lane in no structure": lambda queue: lane(queue, forgotten),
}
"""Set-ups of one entity's jobs j, k and l. What pairs meet there: `lane_pairs`."""

SETUPS = {
    "nothing": lambda queue: None,
    "scheduled": submitted(delay=10),
    "due": due,
    "ready": submitted(),
    "ready, 1 run": submitted(max_attempts=1),
    "late": late,
    "late, last run": lambda queue: late(queue, max_attempts=1),
    "running": running,
    "running, last run": lambda queue: running(queue, max_attempts=1),
    "running, another ready": beside_another,
    "taken over by B": lambda queue: taken_over(queue, "B"),
    "taken over by A": lambda queue: taken_over(queue, "A"),
    "asked to stop": asked_to_stop,
    "late, asked to stop": lambda queue: asked_to_stop(queue, late),
    "due for retry": due_for_retry,
    "dead": dead,
    "in no structure": lost,
}
HELD = {name for name in SETUPS if name.startswith(("running", "late", "taken", "asked"))}


# -- what is done ----------------------------------------------------------------------------------------


def each_claimed(then):
    """Claim a job, and go on with what was claimed."""

    def act(queue, me, _claim):
        for claim in queue.claim(me):
            then(queue, claim)

    return act


def fail(queue, claim):
    queue.fail(claim, "boom", delay=1)


def apply_and_ack(queue, claim):
    once(queue, claim, ("INCR", effect_key(queue, claim.id)))
    queue.ack(claim)


def ack_and_claim(queue, me, claim):
    for next_one in queue.ack_and_claim([claim], me)[1]:
        queue.ack(next_one)


@dataclass(frozen=True)
class Operation:
    """`act(queue, me, claim)`, and the set-ups in which it changes something."""

    act: object
    bites: frozenset
    held: bool = False
    """Whether it is done with a claim that the set-up has handed out."""


def _operation(act, bites, *, held=False):
    return Operation(act, frozenset(bites.split("; ")), held)


READY = "ready; ready, 1 run"
OTHER = "running, another ready"
RUNS = (
    "running; running, last run; late; late, last run; taken over by B; taken over by A; asked to stop; "
    "late, asked to stop"
)
LATE = "late; late, last run; late, asked to stop; running; running, last run; asked to stop"
"""Late, or soon: time may jump."""

OPERATIONS = {
    "submit": _operation(lambda q, *_: q.submit("ok", id="j"), "nothing"),
    "submit, delayed": _operation(lambda q, *_: q.submit("ok", id="j", delay=10), "nothing"),
    "promote": _operation(lambda q, *_: q.promote(), "due; due for retry"),
    "claim, ack": _operation(each_claimed(Queue.ack), f"{READY}; {OTHER}"),
    "claim, fail": _operation(each_claimed(fail), f"{READY}; {OTHER}"),
    "claim, release": _operation(each_claimed(Queue.release), f"{READY}; {OTHER}"),
    "claim, once, ack": _operation(each_claimed(apply_and_ack), f"{READY}; {OTHER}"),
    "ack": _operation(lambda q, _, claim: q.ack(claim), RUNS, held=True),
    "fail": _operation(lambda q, _, claim: fail(q, claim), RUNS, held=True),
    "extend": _operation(lambda q, _, claim: q.extend(claim), RUNS, held=True),
    "release": _operation(lambda q, _, claim: q.release(claim), RUNS, held=True),
    "once, ack": _operation(lambda q, _, claim: apply_and_ack(q, claim), RUNS, held=True),
    "ack_and_claim": _operation(ack_and_claim, f"{RUNS}; {OTHER}", held=True),
    "cancel": _operation(lambda q, *_: q.cancel("j"), f"scheduled; due; due for retry; {READY}; {RUNS}"),
    "recover": _operation(lambda q, *_: q.recover(), LATE),
    "requeue": _operation(lambda q, *_: q.requeue("j"), "dead"),
    "purge": _operation(lambda q, *_: q.purge("j"), "dead"),
    "repair": _operation(lambda q, *_: q.repair(), "in no structure; running"),
    "tick": _operation(lambda q, *_: Scheduler(q).tick(), f"due; due for retry; {LATE}"),
    "a worker's step": _operation(lambda q, me, _: staff(q, me).step(), f"due; due for retry; {READY}; {LATE}"),
}


def promote_in_pieces(queue, *_):
    """What is one script, in three commands."""
    redis, keys = queue.redis, queue.keys
    for id in redis.zrange(keys.delayed, "-inf", queue.clock.now(), byscore=True):
        if redis.zrem(keys.delayed, id):
            put(redis, queue, id)


def recover_in_pieces(queue, *_):
    """Find out who is late, then take the job back: whoever was late may have gone on meanwhile."""
    redis, keys = queue.redis, queue.keys
    if queue.store.name != "streams":
        for id in redis.zrange(keys.leases, "-inf", queue.clock.now(), byscore=True):
            pipe = redis.pipeline()
            pipe.hdel(keys.job + "j", "state").rpush(keys.alone, id).zrem(keys.leases, id)
            pipe.execute()
        return
    for late in redis.xpending_range(keys.ready, "workers", "-", "+", 10, idle=queue.lease_ms):
        pipe = redis.pipeline()
        pipe.hdel(keys.job + "j", "state").xadd(keys.alone, {"id": "j"})
        pipe.xack(keys.ready, "workers", late["message_id"]).xdel(keys.ready, late["message_id"])
        pipe.execute()


WRONG = {
    "promote in pieces": _operation(promote_in_pieces, "due"),
    "recover in pieces": _operation(recover_in_pieces, "late"),
}
"""Not the kit's: what it would be without scripts."""


def ack_two(queue, me, claim):
    """Run two jobs, one after the other; the first may be held."""
    for held in [claim] if claim else queue.claim(me):
        for next_one in queue.ack_and_claim([held], me)[1]:
            queue.ack(next_one)


IN_LANES = {
    "claim two, ack": _operation(ack_two, ""),
    "ack, claim, ack": _operation(ack_two, "", held=True),
    "cancel the second": _operation(lambda q, *_: q.cancel("k"), ""),
    "submit a fourth": _operation(lambda q, *_: q.submit("ok", id="m", entity="e"), ""),
    "submit of another": _operation(lambda q, *_: q.submit("ok", id="m", entity="f"), ""),
    "fail for good": _operation(lambda q, _, claim: q.fail(claim, "boom", permanent=True), "", held=True),
}
"""What is done to the lane of the entity `e`: jobs j, k and l."""

LONG = {"repair", "a worker's step"}
"""Operations of many commands: their pairs have many schedules, and are left to the slow tests."""

LEADS = {
    "submit": {"nothing": "ready"},
    "submit, delayed": {"nothing": "scheduled"},
    "promote": {"due": "ready", "due for retry": "ready"},
    "claim, ack": {"ready": "running", "ready, 1 run": "running, last run"},
    "claim, once, ack": {"ready": "running", "ready, 1 run": "running, last run"},
    "claim, fail": {"ready": "running; scheduled", "ready, 1 run": "running, last run; dead"},
    "claim, release": {"ready": "running; ready", "ready, 1 run": "running, last run"},
    "fail": {"running": "scheduled", "running, last run": "dead", "late": "scheduled", "late, last run": "dead"},
    "release": {"running": "ready", "running, last run": "ready, 1 run", "late": "ready"},
    "recover": {"late": "ready", "late, last run": "dead"},
    "requeue": {"dead": "due"},
    "repair": {"in no structure": "ready"},
    "tick": {"due": "ready", "due for retry": "ready", "late": "ready", "late, last run": "dead"},
}
"""Where an operation brings the job, as other set-ups: there another one may have something to do."""
