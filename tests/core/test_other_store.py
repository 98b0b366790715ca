"""A queue has one ready store: the first submit says which, and a process that names another is told so."""

import pytest
from support.keyspace import dump

from jobkit.errors import ConfigError, JobError
from jobkit.queue import Queue
from jobkit.ready import STORES, Leases, Lists, Streams, store_of
from jobkit.scheduler import Scheduler
from jobkit.worker import Worker

OTHERS = [
    pytest.param(one, other, id=f"{one.kind} and {other.kind}")
    for one in (Streams(), Lists(), Lists(fair=3), Leases())
    for other in (Streams(), Lists(), Lists(fair=4), Leases())
    if one.kind != other.kind
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_every_verb_that_goes_to_the_store_refuses_another(redis, one, other):
    """And changes nothing: not even a due job moves."""
    queue, wrong = Queue(redis, "q", ready=one), Queue(redis, "q", ready=other)
    queue.submit("t", id="j")
    queue.submit("t", id="due", delay=5)
    redis.clock.advance(5)
    before = dump(redis)
    acts = [lambda: wrong.submit("t", id="k"), wrong.promote, lambda: wrong.claim("w"), wrong.counts, wrong.agree]
    acts += [Scheduler(wrong).tick, Worker(wrong).step]
    for act in acts:
        with pytest.raises(ConfigError, match=f"is {one.kind}, and not {other.kind}"):
            act()
    assert dump(redis) == before
    assert queue.promote().moved == 1


def test_a_repair_by_another_puts_nothing_back(redis):
    queue = Queue(redis, "q", ready=Lists())
    queue.submit("t", id="j")
    before = dump(redis)
    with pytest.raises(ConfigError):
        Queue(redis, "q", ready=Streams()).repair()
    assert dump(redis) == before


def test_an_empty_queue_has_no_store_yet(redis, store):
    for ready in (Streams(), Lists(), Leases()):
        assert Queue(redis, "q", ready=ready).claim("w") == []
    assert redis.dbsize() == 0
    Queue(redis, "q", ready=store).submit("t")
    assert redis.get("{q}:store").decode() == store.kind


@pytest.mark.parametrize("loop", ["worker", "scheduler"])
def test_no_loop_begins_on_another_store(fake, loop):
    Queue(fake, "q", ready=Lists()).submit("t")
    wrong = Queue(fake, "q", ready=Leases())
    wrong.clock.virtual = False  # as far as the loops can see: they end before they would wait
    with pytest.raises(ConfigError, match="is lists, and not leases"):
        (Worker(wrong) if loop == "worker" else Scheduler(wrong)).run()


@pytest.mark.parametrize("store", [Streams(), Lists(), Lists(fair=7), Leases()], ids=lambda store: store.kind)
def test_a_store_is_made_of_what_the_server_remembers(store):
    assert (store_of(store.kind).kind, type(store_of(store.kind))) == (store.kind, type(store))
    assert STORES[store.name] is type(store)


@pytest.mark.parametrize("kind", ["", "list", "lists fair=", "lists fair=x", "streams "])
def test_what_is_no_store(kind):
    with pytest.raises(ConfigError):
        store_of(kind)


@pytest.mark.parametrize("ready", [Streams(), Lists()], ids=lambda store: store.kind)
def test_a_lease_of_its_own_is_refused_where_there_is_one_per_queue(redis, ready):
    with pytest.raises(JobError, match="Leases"):
        Queue(redis, "q", ready=ready).submit("t", lease=5)
    assert redis.dbsize() == 0
