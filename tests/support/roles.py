"""The whole life of jobs, each part by a user of the server who may do no more than his part.

`life(queues, advance)` takes a queue per role, each on a client of its own user; `advance` moves the
server's time, by somebody who may.
"""

import pytest

from jobkit.bell import Bell
from jobkit.errors import StaleClaim
from jobkit.job import State

ROLES = ("submitter", "worker", "scheduler", "monitor", "operator")


def life(queues, advance):
    """Every verb by whom it belongs to; each effect is seen, so that nothing can fail in silence."""
    submitter, worker = queues["submitter"], queues["worker"]
    bell = Bell(worker.redis, worker.keys.bell, worker.clock)
    assert bell.wait(0), "its first wait looks at once"
    _submits(submitter)
    assert bell.wait(5), "submit rings, and the worker hears it"
    bell.close()
    _works(worker, submitter)
    assert queues["monitor"].counts().running == 0, "what was settled is no longer pending"
    _schedules(queues, advance)
    _watches(queues["monitor"])
    _mends(queues)


def _submits(queue):
    assert queue.submit("t", id="acked").state is State.READY
    assert not queue.submit("t", id="acked").created
    assert queue.submit("t", id="later", delay=60).state is State.SCHEDULED
    assert queue.submit("t", id="first", entity="e").state is State.READY
    assert queue.submit("t", id="second", entity="e").state is State.WAITING
    queue.submit("t", id="third", entity="e")
    assert queue.cancel("third") == "cancelled"
    queue.submit("t", id="skipped")
    assert queue.cancel("skipped") == "cancelled"
    assert (queue.get("skipped").state, queue.history("later")) == (State.CANCELLED, [])


def _works(worker, submitter):
    claims = {claim.id: claim for claim in worker.claim("w", 10)}
    assert sorted(claims) == ["acked", "first"]
    worker.extend(claims["acked"])
    worker.ack(claims["acked"])
    assert worker.fail(claims["first"], "x", permanent=True) is State.DEAD
    (second,) = worker.claim("w")
    assert (second.id, worker.release(second)) == ("second", State.READY)
    (second,) = worker.claim("w")
    submitter.cancel("second")
    assert worker.fail(second, "x") is State.CANCELLED
    submitter.submit("t", id="tried", priority=3)
    assert worker.fail(*worker.claim("w"), "x", delay=50) is State.SCHEDULED
    assert worker.claim("w") == []


def _schedules(queues, advance):
    submitter, worker, scheduler = (queues[role] for role in ROLES[:3])
    assert scheduler.promote().moved == 0
    advance(61)
    assert scheduler.promote().moved == 2
    _extended(submitter, worker, scheduler, queues["monitor"], advance)
    submitter.submit("t", id="poison", max_attempts=1)
    submitter.submit("t", id="ended")
    held = worker.claim("gone", 10)
    submitter.cancel("ended")
    advance(31)
    assert scheduler.recover() == (2, 1)
    with pytest.raises(StaleClaim):
        worker.ack(held[0])
    for _ in range(2):
        worker.ack(*worker.claim("w"))
    advance(40 * 86_400)
    scheduler.tidy(idle=0)
    assert scheduler.counts().dead == 0
    if scheduler.store.name == "streams":
        assert queues["admin"].xinfo_consumers(scheduler.keys.ready, "workers") == []


def _extended(submitter, worker, scheduler, monitor, advance):
    before = worker.claim("w", 10)
    submitter.submit("t", id="kept")
    (kept,) = worker.claim("w")
    for claim in before:
        assert worker.release(claim) is State.READY
    for _ in range(3):
        advance(20)
        worker.extend(kept)
    assert scheduler.recover() == (0, 0)
    assert (monitor.stats().running, monitor.counts().ready) == (1, 2)
    worker.ack(kept)


def _watches(monitor):
    monitor.agree()
    stats = monitor.stats()
    assert (stats.totals["dropped"], stats.lateness.count, stats.lost) == (2, 9, 0)
    assert (stats.overdue, stats.oldest_ready, monitor.dead()) == (None, None, [])


def _mends(queues):
    submitter, worker, operator = queues["submitter"], queues["worker"], queues["operator"]
    for id in ("letter", "other"):
        submitter.submit("t", id=id, max_attempts=1)
        worker.fail(*worker.claim("w"), "x")
    assert [letter.last.outcome for letter in operator.dead()] == ["dead", "dead"]
    assert operator.requeue("letter") == {"letter": "requeued"}
    assert operator.purge() == 1
    queues["scheduler"].promote()
    queues["admin"].delete(worker.keys.tokens)
    (letter,) = worker.claim("w")
    assert letter.token > 1, "the counter was lost, and no token comes twice"
    worker.ack(letter)
    submitter.submit("t", id="lost", entity="f")
    queues["admin"].hdel(submitter.keys.lanes, "f")
    queues["admin"].delete(submitter.keys.ready, f"{submitter.keys.ready}:0")
    assert operator.repair() == ["lost"]
    assert queues["monitor"].counts().lost == 0
