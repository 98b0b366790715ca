"""Equal seeds, equal traces; no seed, different ones. On a live server the decisions are equal, not the times."""

from random import Random

from support.wire import Wire
from support.world import rows

from jobkit.backoff import Exponential
from jobkit.clock import VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.errors import Permanent, RetryAfter
from jobkit.queue import Queue
from jobkit.worker import Worker


def run(client, seed):
    """Run a day of jobs that fail in all ways; return what was decided."""
    queue = Queue(client, "q", rng=None if seed is None else Random(seed))
    worker = Worker(queue, backoff=Exponential(10), batch=3, rng=None if seed is None else Random(seed + 1))
    chance = Random(99)

    @worker.task
    def task(job, n):
        luck = chance.random()
        if luck < 0.4:
            raise ValueError(n)
        if luck < 0.5:
            raise RetryAfter(20 + n)
        if luck < 0.6:
            raise Permanent
        client.clock.advance(n)

    ids, outcomes = [], []
    for n in range(12):  # one after the other: on a live server real time passes, too, and would mix them
        ids.append(queue.submit("task", {"n": n}, delay=10 * n).id)
        outcomes += worker.drain()
    for letter in queue.dead():
        queue.requeue(letter.id)
        outcomes += worker.drain()
    decisions = [(ids.index(o.id), o.attempt, o.became, o.error, o.delay_ms) for o in outcomes]
    return worker.name, ids, decisions, rows(queue), {id: queue.history(id) for id in ids}


def on_a_fake(seed):
    wire = Wire()
    client = wire.client(FakeRedis(VirtualClock()).client())
    return run(client, seed), wire.sent


def test_equal_seeds_give_equal_traces_command_by_command():
    (one, sent), (other, sent_too) = on_a_fake(5), on_a_fake(5)
    assert one == other
    assert len(sent) > 100
    assert sent == sent_too


def test_another_seed_gives_another_trace():
    (name, ids, decisions, *_), _ = on_a_fake(5)
    (other_name, other_ids, other_decisions, *_), _ = on_a_fake(6)
    assert name != other_name
    assert not set(ids) & set(other_ids)
    assert decisions != other_decisions


def test_unseeded_runs_differ():
    runs = [on_a_fake(None)[0] for _ in range(3)]
    assert len({name for name, *_ in runs}) == 3
    assert len({tuple(ids) for _, ids, *_ in runs}) == 3
    assert len({tuple(decisions) for _, _, decisions, *_ in runs}) == 3


def test_a_live_server_decides_the_same(live):
    name, ids, decisions, told, _ = run(live, 5)
    (name_too, ids_too, decisions_too, told_too, _), _ = on_a_fake(5)
    assert (name, ids, decisions) == (name_too, ids_too, decisions_too)
    assert told == told_too
