"""Queues for the tests; after each test all keys are the kit's own, and the books balance."""

import pytest
from support.seeds import LEASE, RETENTION
from support.stores import STORES
from support.world import check_books, check_keys

from jobkit.connect.fake import FakeRedis
from jobkit.queue import Queue


@pytest.fixture(params=STORES, ids=lambda store: store.name)
def store(request):
    return request.param()


def maker(redis, store):
    """Make queues on a server; check their books at the end."""
    made = []

    def make(name="q", client=redis, **settings):
        queue = Queue(client, name, **({"ready": store, "lease": LEASE, "retention": RETENTION} | settings))
        made.append(queue)
        return queue

    yield make
    if made:
        check_keys(redis)
        for queue in made:
            check_books(Queue(redis, queue.name, ready=queue.store))


@pytest.fixture
def make_queue(redis, store):
    yield from maker(redis, store)


@pytest.fixture
def queue(make_queue):
    return make_queue()


@pytest.fixture(params=["fake", "live"])
def ticking(request):
    """A client of a server in real time, for threads that really wait."""
    if request.param == "live":
        yield request.getfixturevalue("live")
        return
    marker = request.node.get_closest_marker("live_only")
    if marker:
        pytest.skip(f"live only: {marker.kwargs.get('reason') or marker.args[0]}")
    with FakeRedis().client() as client:
        yield client


@pytest.fixture
def make_ticking(ticking, store):
    yield from maker(ticking, store)
