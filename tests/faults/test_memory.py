"""Memory that runs out: under noeviction nothing is done by halves; what an evicting server throws away is told.

An evicted structure (a stream, the delayed set) is found by `repair`: the records tell. An evicted
record is gone for good, and whoever asks for the job gets an error, not silence.
"""

from collections import Counter
from random import Random

import pytest
import redis as redis_py
from core.test_lost_replies import VERBS, whole
from support.keyspace import dump
from support.operations import LEASE, make
from support.seeds import seed
from support.world import check_books, levels

from jobkit.backoff import Table
from jobkit.connect import PrivateServer
from jobkit.errors import StaleClaim, UnknownJob
from jobkit.once import effect_key, once
from jobkit.queue import Queue
from jobkit.submission import New
from jobkit.worker import Worker

# -- noeviction ------------------------------------------------------------------------------------

ACTS = VERBS | {
    "claim": ("ready", lambda queue, _: queue.claim("w1")[0].attempt),
    "ack_and_claim": ("running", lambda queue, claim: queue.ack_and_claim([claim], "w1")),
    "once": ("running", lambda queue, claim: once(queue, claim, ("INCR", effect_key(queue, "n")))),
    "repair": ("running", lambda queue, claim: queue.repair()),
}
MAY_REFUSE = {"submit", "submit_many", "once", "cancel"}
"""What settles a failed or a late run, and what frees memory, goes through on a full server."""


@pytest.fixture(scope="module")
def server(live_server):
    """A server of its own, whose memory may run out."""
    with PrivateServer() as server:
        yield server


@pytest.fixture
def small(server):
    with server.client() as client:
        client.config_set("maxmemory", 0)
        client.config_set("maxmemory-policy", "noeviction")
        client.flushall()
        yield client
        client.config_set("maxmemory", 0)


@pytest.mark.live_only("the fake has no maxmemory")
@pytest.mark.parametrize("verb", ACTS)
def test_out_of_memory_every_verb_works_or_raises_and_has_changed_nothing(small, store, verb):
    state, act = ACTS[verb]

    def fresh(seed):
        return Queue(small, "q", ready=store, lease=LEASE, rng=Random(seed))

    def run(maxmemory):
        small.flushall()
        claim = seed(fresh(1), state)
        before = dump(small)
        small.config_set("maxmemory", maxmemory)
        raised = None
        try:
            act(fresh(2), claim)
        except redis_py.ResponseError as error:
            raised = str(error)
            assert dump(small) == before
        small.config_set("maxmemory", 0)
        if raised:
            act(fresh(2), claim)
        return raised, whole(small)

    (no, expected), (raised, state) = run(0), run(1)
    assert no is None
    assert state == expected
    assert raised is None or ("maxmemory" in raised and verb.partition(",")[0] in MAY_REFUSE)


# -- allkeys-lru ---------------------------------------------------------------------------------------


@pytest.mark.live_only("the fake has no maxmemory")
def test_evicted_at_random_every_job_is_found_or_missed_aloud(small, store):
    queue, accepted = make(small, store), []
    small.config_set("maxmemory-policy", "allkeys-lru")
    small.config_set("maxmemory", small.info("memory")["used_memory"] + 400_000)
    for n in range(60):
        jobs = [New("ok", b"x" * 500, id=f"{n}-{i}", delay=i % 2) for i in range(20)]
        accepted += [answer.id for answer in queue.submit_many(jobs)]
    small.config_set("maxmemory", 0)
    assert small.info("stats")["evicted_keys"] > 0
    ends = drained(queue, accepted)
    assert ends["done"] + ends["missing"] == len(accepted)
    assert ends["missing"] > 0


def drained(queue, accepted):
    """Repair, run all there is, and count what each job's record says."""
    queue.repair()
    queue.redis.clock.advance(LEASE + 1)
    worker = Worker(queue, batch=100, backoff=Table(5))
    worker.task(name="ok", raw=True)(lambda job: once(queue, job, ("INCR", effect_key(queue, job.id))))
    worker.drain()
    ends = Counter()
    for id in accepted:
        try:
            ends[str(queue.get(id).state)] += 1
            assert queue.redis.get(effect_key(queue, id)) == b"1"
        except UnknownJob:
            ends["missing"] += 1
    return ends


def of_every_kind(queue):
    """Leave jobs in every live state: scheduled, ready, running, late, handed out alone, waiting for a retry."""
    ids = ["late", "again", "retry", "running", "ready", "scheduled"]
    queue.submit_many([New("ok", id=id) for id in ids[:3]])
    claims = {claim.id: claim for claim in queue.claim("w0", 3)}
    queue.fail(claims["retry"], "x", delay=100)
    queue.redis.clock.advance(LEASE + 1)
    queue.recover()
    queue.claim("w0")
    queue.submit("ok", id="running")
    while queue.get("running").state != "running":
        queue.claim("w0", 1)
    queue.submit("ok", id="ready")
    queue.submit("ok", id="scheduled", delay=500)
    return ids, claims["late"]


@pytest.mark.parametrize("part", ["delayed", "ready", "alone", "totals", "tokens"])
def test_a_structure_that_was_evicted(redis, store, part):
    queue = make(redis, store)
    ids, zombie = of_every_kind(queue)
    redis.delete(getattr(queue.keys, part))
    redis.clock.advance(0.001)
    assert drained(queue, ids) == {"done": len(ids)}
    with pytest.raises(StaleClaim):
        queue.fail(zombie, "x")


@pytest.mark.parametrize("lost", ["late", "again", "retry", "running", "ready", "scheduled"])
def test_a_record_that_was_evicted(redis, store, lost):
    queue = make(redis, store)
    ids, _ = of_every_kind(queue)
    redis.delete(queue.keys.job + lost)
    assert drained(queue, ids) == {"done": len(ids) - 1, "missing": 1}
    assert levels(queue) == (0, 0, 0, 0)
    queue.submit("ok", id=lost)
    assert drained(queue, ids) == {"done": len(ids)}


@pytest.mark.parametrize("verb", ["ack", "fail", "extend", "release"])
def test_the_record_of_a_running_job_was_evicted(redis, store, verb):
    queue = make(redis, store)
    claim = seed(queue, "running")
    redis.delete(queue.keys.job + "j")
    with pytest.raises(StaleClaim):
        getattr(queue, verb)(*([claim, "x"] if verb == "fail" else [claim]))
    redis.clock.advance(LEASE + 1)
    queue.recover()
    assert levels(queue) == (0, 0, 0, 0)
    assert queue.claim("w2") == []


def test_the_list_of_dead_letters_was_evicted(redis, store):
    queue = make(redis, store)
    seed(queue, "dead")
    redis.delete(queue.keys.dead)
    queue.repair()
    assert queue.requeue() == {"j": "requeued"}
    check_books(queue)
