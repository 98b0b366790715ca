"""Somebody else's turn before every command of every operation: whole actions, at every moment.

What must hold, whoever was there in between: no job is lost or has two places, each is settled
once and has its effect once, and what was cancelled before it ran never runs.
"""

import contextlib

import pytest
from support.operations import FEW, LEASE, OPERATIONS, check_copies, finish, make, quietly, small_steps, staff
from support.steps import Steps
from support.stores import put
from support.world import totals

from jobkit.errors import JobkitError
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New


@pytest.fixture(autouse=True)
def steps_of_two(monkeypatch):
    small_steps(monkeypatch)


class Other:
    """A second client of the same queue; `runs` is everybody's list of the ids that ran."""

    def __init__(self, queue, runs):
        self.queue, self.runs, self.stopped = queue, runs, {}
        """`stopped`: id -> how many runs it had when its cancel was answered 'cancelled'."""

    def works(self):
        staff(self.queue, "other", runs=self.runs).step()

    def claims_and_crashes(self):
        self.queue.claim("other", 2)

    def cancels_all(self):
        for id in [*FEW, "late0", "ok"]:
            if quietly(self.queue.cancel, id) == "cancelled":
                self.stopped[id] = self.runs.count(id)

    def promotes_and_recovers(self):
        Scheduler(self.queue).tick()

    def takes_it_for_dead(self):
        """The first client is paused for longer than its lease; then others do all that there is."""
        self.queue.redis.clock.advance(LEASE + 1)
        self.works()
        self.works()

    def requeues_all(self):
        self.queue.requeue()

    def purges_all(self):
        self.queue.purge()

    def repairs(self):
        self.queue.repair()

    def submits_the_same(self):
        self.queue.submit_many(New("ok", id=id, delay=40) for id in FEW)


ACTIONS = [name for name in vars(Other) if not name.startswith("_")]
OFTEN = ["submit_many", "step, fails", "requeue", "purge", "once, ack_and_claim"]
CASES = [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in OPERATIONS]


def take_turns(redis, store, name, action, at):
    """Do it anew, with another's turn before command number `at`; return how many commands there were."""
    redis.flushall()
    prepare, act = OPERATIONS[name]
    queue, runs = make(redis, store), []
    found = prepare(queue)
    other = Other(queue, runs)
    steps = Steps.turn(at, getattr(other, action))
    first = make(steps.client(redis), store)
    with contextlib.suppress(JobkitError):  # it came too late, and was told so
        act(first, found, runs)
    first.redis.close()
    if name != "repair" or action == "repairs":
        check_copies(queue)
    queue.repair()
    ends = finish(queue, runs)
    for id, before in other.stopped.items():
        assert runs.count(id) == before, f"{id} was cancelled, and ran"
    sums = totals(queue)
    assert sums["submitted"] == len(ends) + sums["dropped"]
    return steps.sent


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", CASES)
def test_another_clients_turn_before_every_command(redis, store, name, action):
    at = 1
    while take_turns(redis, store, name, action, at) > at:
        at += 1


def test_a_promote_of_several_commands_would_be_caught(redis, store):
    """The check can fail: this is how a job is handed out twice."""

    def read_then_remove(client, keys, limit):
        ids = client.zrange(keys.delayed, 0, limit - 1)
        client.zrem(keys.delayed, *ids)
        put(client, make(client, store), ids[0])
        return ids

    def turn(at):
        redis.flushall()
        queue = make(redis, store)
        queue.submit("ok", id="j1", delay=5)
        redis.clock.advance(5)
        Queue(Steps.turn(at, queue.promote).client(redis), "q", ready=store, promote=read_then_remove).promote()
        check_copies(queue)

    turn(4)
    with pytest.raises(AssertionError):
        turn(2)
