"""Any verbs in any order against a model: answers, states, totals, tokens, and no key of another's."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.model import LEASE, RETENTION, Model
from support.table import answer_of
from support.world import check_books, check_keys, levels

from jobkit.queue import Queue

IDS = ["a", "b", "a}{b:c", "é\n"]
ids = st.sampled_from(IDS)
delays = st.sampled_from([0, 10, 20, 3600])


class Life(RuleBasedStateMachine):
    """One queue, a few ids, and every claim that was ever handed out."""

    claims = Bundle("claims")

    def __init__(self, redis, store):
        super().__init__()
        redis.flushall()
        self.redis = redis
        self.queue = Queue(redis, "q", ready=store, lease=LEASE, retention=RETENTION)
        self.model = Model()
        self.books = Counter()

    def both(self, expected, act, claim=None):
        """Compare the answer of the queue with the model's."""
        assert answer_of(lambda queue, claim: act(queue), self.queue, claim) == expected

    @initialize()
    def neighbour(self):
        """A queue beside it, which must stay as it is."""
        beside = Queue(self.redis, "q2", ready=self.queue.store)
        beside.submit("t", id="a", delay=10**6)
        beside.submit("t", id="b")

    @rule(id=ids, delay=delays, limit=st.integers(1, 3))
    def submit(self, id, delay, limit):
        created, state = self.model.submit(id, delay, limit)
        self.both((id, created, state), lambda q: q.submit("t", {"x": 1}, id=id, delay=delay, max_attempts=limit))

    @rule(limit=st.integers(1, 3))
    def promote(self, limit):
        self.both(self.model.promote(limit), lambda q: q.promote(limit).moved)

    @rule(target=claims, limit=st.integers(1, 3), worker=st.sampled_from(["w1", "w2"]))
    def claim(self, limit, worker):
        claims = self.queue.claim(worker, limit)
        keys = {id: self.queue.keys.job + id for id in self.model.jobs}
        self.model.claimed(claims, limit, {id for id, key in keys.items() if self.redis.pttl(key) == -1})
        return multiple(*claims)

    @rule(claim=claims)
    def ack(self, claim):
        expected = self.model.ack(claim)
        self.both(None if expected == "done" else expected, lambda q: q.ack(claim))

    @rule(claim=claims, delay=delays)
    def fail(self, claim, delay):
        self.both(self.model.fail(claim, delay), lambda q: q.fail(claim, "boom", delay=delay))

    @rule(claim=claims)
    def fail_for_good(self, claim):
        self.both(self.model.fail(claim, 0, permanent=True), lambda q: q.fail(claim, "boom", permanent=True))

    @rule(claim=claims)
    def refuse(self, claim):
        self.both(self.model.fail(claim, 0, charged=False), lambda q: q.refuse(claim, "unknown"))

    @rule(claim=claims)
    def extend(self, claim):
        self.both(self.model.extend(claim), lambda q: q.extend(claim))

    @rule(claim=claims)
    def release(self, claim):
        self.both(self.model.release(claim), lambda q: q.release(claim))

    @rule(claim=consumes(claims))
    def crash(self, claim):
        """Whoever held it is gone for good."""

    @rule(id=ids)
    def cancel(self, id):
        self.both(self.model.cancel(id), lambda q: q.cancel(id))

    @rule()
    def recover(self):
        self.both(self.model.recover(), lambda q: q.recover())

    @rule(id=ids)
    def requeue(self, id):
        self.both({id: self.model.requeue(id, 0)}, lambda q: q.requeue(id))

    @rule(id=ids)
    def purge(self, id):
        self.both(self.model.purge(id), lambda q: q.purge(id))

    @rule(seconds=st.sampled_from([10, 20, 30, 3600]))
    def advance(self, seconds):
        self.redis.clock.advance(seconds)
        self.model.advance(seconds)

    @rule()
    def housekeeping(self):
        self.queue.tidy(idle=0)
        assert self.queue.repair() == []

    @rule()
    def forget_the_scripts(self):
        self.redis.script_flush()

    @precondition(lambda self: self.model.jobs)
    @invariant()
    def each_job_is_in_its_state(self):
        for id, job in self.model.jobs.items():
            told = self.queue.get(id)
            assert (id, told.state, told.attempt) == (id, job.state, job.attempt)

    @invariant()
    def levels_and_totals(self):
        states = Counter(job.state for job in self.model.jobs.values())
        waits = sum(not job.skipped for job in self.model.jobs.values())
        assert levels(self.queue) == (
            states["scheduled"],
            states["ready"] + waits,
            states["running"],
            states["dead"],
        )
        totals = Counter(self.queue.counts().totals)
        assert totals == self.model.totals
        assert totals >= self.books, "a total went down"
        self.books = totals

    @invariant()
    def nothing_else_is_there(self):
        check_books(self.queue)
        beside = Queue(self.redis, "q2", ready=self.queue.store)
        assert levels(beside) in {(1, 1, 0, 0), (0, 0, 0, 0)}

    def teardown(self):
        check_keys(self.redis)
        self.redis.flushall()


@pytest.mark.timeout(600)
def test_any_verbs_in_any_order(redis, store):
    live, often = redis.server.kind != "fake", store.name == "streams"  # what the verbs do is the same for all
    run_state_machine_as_test(
        lambda: Life(redis, store),
        settings=settings(
            max_examples=(12 if live else 30) if often else (5 if live else 12),
            stateful_step_count=40,
            suppress_health_check=list(HealthCheck),
        ),
    )
