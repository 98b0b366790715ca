"""What a client of the kit can be doing when something happens to it: one table for every fault."""

from collections import Counter
from random import Random

from support import stores
from support.world import check_books, ids, totals

from jobkit.backoff import Table
from jobkit.errors import JobkitError, Permanent
from jobkit.once import effect_key, once
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker

LEASE = 30
FEW = [f"j{n}" for n in range(5)]
"""With steps of two jobs (see `small_steps`): three scripts."""


def small_steps(monkeypatch):
    """Let every script take two jobs at most, so that five of them need several."""
    for name in ("queue.CHUNK", "scheduler.BATCH", "repair.PAGE", "heartbeat.CHUNK"):
        monkeypatch.setattr(f"jobkit.{name}", 2)


def make(redis, store):
    """Return the queue of these tests on a client."""
    return Queue(redis, "q", ready=store, lease=LEASE)


def staff(queue, name="w", batch=1, runs=None):
    """Return a worker with a task of every fate; each applies its effect first, once per job. `runs` gets the ids."""
    worker = Worker(queue, name=name, batch=batch, backoff=Table(5), rng=Random(1))
    worker.runner.heartbeat.beat = lambda: None  # these steps take no time; a process that is paused sends none

    def register(task, then):
        @worker.task(name=task)
        def handler(job):
            if runs is not None:
                runs.append(job.id)
            once(queue, job, ("INCR", effect_key(queue, job.id)))
            then(job)

    register("ok", lambda job: None)
    register("fails once", _fail_once)
    register("hopeless", _give_up)
    return worker


def _fail_once(job):
    if job.attempt == 1:
        raise ValueError("the first time")


def _give_up(job):
    raise Permanent("no")


# -- what there is at the start ----------------------------------------------------------------------


def nothing(queue):
    return []


def one(task, **how):
    def prepare(queue):
        queue.submit(task, id="j0", **how)

    return prepare


def mixed(queue):
    tasks = ["ok", "fails once", "hopeless", "nobody knows", "ok"]
    queue.submit_many([New(task, id=id) for id, task in zip(FEW, tasks, strict=True)])


def three(queue):
    queue.submit_many([New(task, id=task[:4]) for task in ("ok", "fails once", "hopeless")])


def due_and_late(queue):
    queue.submit_many([New("ok", id=f"late{n}") for n in range(3)])
    queue.claim("gone", 3)
    queue.submit_many([New("ok", id=id, delay=10) for id in FEW])
    queue.redis.clock.advance(LEASE + 1)


def dead(queue):
    queue.submit_many([New("ok", id=id) for id in FEW])
    for claim in queue.claim("w0", 5):
        queue.fail(claim, "x", permanent=True)


def placeless(queue):
    queue.submit_many([New("ok", id=id) for id in FEW])
    queue.claim("w0", 2)
    stores.lose(queue)


def running(queue):
    queue.submit("ok", id="j0")
    return queue.claim("w0")[0]


def asked_to_stop(queue):
    claim = running(queue)
    queue.cancel("j0")
    return claim


# -- what is done --------------------------------------------------------------------------------------


def step(batch=1):
    return lambda queue, _, runs: staff(queue, batch=batch, runs=runs).step()


def settle(queue, claim, runs):
    """A worker made by hand, with a batch of acks and the next claim in one step."""
    once(queue, claim, ("INCR", effect_key(queue, claim.id)))
    queue.ack_and_claim([claim], "w")


OPERATIONS = {
    "submit": (nothing, lambda queue, *_: queue.submit("ok", id="j0")),
    "submit, delayed": (nothing, lambda queue, *_: queue.submit("ok", id="j0", delay=50)),
    "submit_many": (nothing, lambda queue, *_: queue.submit_many(New("ok", id=i, delay=len(i) % 2) for i in FEW)),
    "step": (one("ok"), step()),
    "step, due": (one("ok", delay=10), lambda q, _, runs: (q.redis.clock.advance(10), step()(q, None, runs))),
    "step, fails": (one("fails once"), step()),
    "step, at its last attempt": (one("fails once", max_attempts=1), step()),
    "step, permanent": (one("hopeless"), step()),
    "step, unknown": (one("nobody knows"), step()),
    "step, a batch": (mixed, step(5)),
    "drain": (three, lambda queue, _, runs: staff(queue, batch=2, runs=runs).drain()),
    "tick": (due_and_late, lambda queue, *_: Scheduler(queue).tick()),
    "recover": (due_and_late, lambda queue, *_: queue.recover()),
    "requeue": (dead, lambda queue, *_: queue.requeue(over=7)),
    "purge": (dead, lambda queue, *_: queue.purge()),
    "purge, by id": (dead, lambda queue, *_: queue.purge(*FEW)),
    "repair": (placeless, lambda queue, *_: queue.repair()),
    "dead": (dead, lambda queue, *_: queue.dead()),
    "once, ack_and_claim": (running, settle),
    "fail": (running, lambda queue, claim, _: queue.fail(claim, "x", delay=1)),
    "extend": (running, lambda queue, claim, _: queue.extend(claim)),
    "release": (running, lambda queue, claim, _: queue.release(claim)),
    "release, asked to stop": (asked_to_stop, lambda queue, claim, _: queue.release(claim)),
    "cancel": (one("ok"), lambda queue, *_: queue.cancel("j0")),
    "cancel, scheduled": (one("ok", delay=9), lambda queue, *_: queue.cancel("j0")),
    "tidy": (dead, lambda queue, *_: queue.tidy()),
}
"""Name -> (what there is at the start, what is done: called with the queue, the claim that the start
gave if it gave one, and a list of the ids that run)."""


# -- what must be true --------------------------------------------------------------------------------


def check_copies(queue):
    """Assert that every live job has exactly one place, and the others none: no more than the books say."""
    redis, keys = queue.redis, queue.keys
    places = Counter(redis.zrange(keys.delayed, 0, -1)) + Counter(redis.zrange(keys.dead, 0, -1))
    places += stores.places(queue)
    states = {id.encode(): redis.hget(keys.job + id, "state") for id in ids(queue)}
    live = {id for id, state in states.items() if state in {None, b"running", b"dead"}}
    assert {id: places[id] for id in live} == dict.fromkeys(live, 1)
    assert all(states.get(id) == b"cancelled" for id in places.keys() - live), places
    check_books(queue)


def finish(queue, runs=None):
    """Let a lease pass, and another worker run all there is; return how each job ended. No effect came twice.

    A done job had its effect. A dead one may have died before it, at its last attempt, and so may one
    that was cancelled while it ran.
    """
    queue.redis.clock.advance(LEASE + 1)
    staff(queue, "last", batch=5, runs=runs).drain()
    check_copies(queue)
    ends = {id: str(queue.get(id).state) for id in ids(queue)}
    for id, state in ends.items():
        effects = int(queue.redis.get(effect_key(queue, id)) or 0)
        assert effects in {"done": {1}, "dead": {0, 1}, "cancelled": {0, 1}}[state], (id, state, effects)
    assert totals(queue)["done"] == list(ends.values()).count("done")
    return ends


def quietly(act, *args):
    """Do something that may be refused, since somebody else was there before."""
    try:
        return act(*args)
    except JobkitError:
        return None
