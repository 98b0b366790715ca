"""Any verbs in any order, and hours of failures and deaths: of an entity one runs at a time, and none overtakes."""

from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from support.lane_model import LEASE, Lanes
from support.world import check_books, check_keys

from jobkit.queue import Queue
from jobkit.shards import ShardedQueue


class Life(RuleBasedStateMachine):
    """A few entities, and whatever can happen to their jobs."""

    jobs, claims = Bundle("jobs"), Bundle("claims")

    def __init__(self, redis, store):
        super().__init__()
        redis.flushall()
        self.model = Lanes(Queue(redis, "q", ready=store, lease=LEASE))

    @rule(target=jobs, entity=st.sampled_from("ab"), delay=st.sampled_from([0, 0, 10, 60]), attempts=st.integers(1, 3))
    def submit(self, entity, delay, attempts):
        return self.model.submit(entity, delay, attempts)

    @rule(target=claims, limit=st.integers(1, 3))
    def claim(self, limit):
        return multiple(*self.model.claim(limit))

    @rule(claim=claims, how=st.sampled_from(["ack", "fail", "bury", "release"]), delay=st.sampled_from([0, 10]))
    def settle(self, claim, how, delay):
        self.model.settle(claim, how, delay)

    @rule(claim=consumes(claims))
    def die(self, claim):
        """Whoever held it is gone for good."""

    @rule(job=jobs)
    def cancel(self, job):
        self.model.cancel(job)

    @rule(job=jobs)
    def requeue(self, job):
        self.model.requeue(job)

    @rule(seconds=st.sampled_from([10, LEASE + 10]))
    def time_passes(self, seconds):
        self.model.advance(seconds)
        self.model.recover()

    @rule()
    def repair(self):
        assert self.model.queue.repair() == []

    @invariant()
    def lanes_have_heads(self):
        self.model.check()

    def teardown(self):
        self.model.finish()
        check_books(self.model.queue)
        check_keys(self.model.queue.redis)
        self.model.queue.redis.flushall()


@pytest.mark.timeout(600)
def test_any_verbs_in_any_order(redis, store):
    live = redis.server.kind != "fake"
    often = store.name == "streams" and not live
    run_state_machine_as_test(
        lambda: Life(redis, store),
        settings=settings(
            max_examples=15 if often else 3, stateful_step_count=30, suppress_health_check=list(HealthCheck)
        ),
    )


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_hours_of_failures_and_deaths_in_three_shards(fake, seed):
    """Three workers; few runs end well: they fail, hang, die, are cancelled, or buried and requeued."""
    chance, queue = Random(seed), ShardedQueue(fake, "q", shards=3, lease=LEASE, rng=Random(seed))
    model, entities, claims = Lanes(queue), [f"e{n}" for n in range(8)], []
    for _ in range(400):
        for _ in range(chance.randrange(3)):
            model.submit(chance.choice(entities), chance.choice([0, 0, 5, 90]), chance.randint(1, 4))
        claims += model.claim(3)
        chance.shuffle(claims)
        while len(claims) > 3:  # more than three workers have: these go on, or are never heard of again
            what = chance.choice(["ack", "ack", "fail", "bury", "release", "die", "late"])
            claim = claims.pop()
            if what == "late":
                model.advance(LEASE + 1)
                model.recover()
                model.settle(claim, "ack")
            elif what != "die":
                model.settle(claim, what, chance.choice([0, 1, 20]))
        if chance.random() < 0.2:
            model.cancel(chance.choice(model.born or [model.submit("e0")]))
        if chance.random() < 0.2 and model.dead:
            model.requeue(chance.choice(sorted(model.dead)))
        model.advance(chance.choice([0, 1, 10]))
        model.recover()
    model.check()
    model.finish()
    assert model.runs > 500
    for part in queue.shards:
        check_books(part)
    check_keys(fake)
