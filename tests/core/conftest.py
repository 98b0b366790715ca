"""Queues for the tests of the core; after each test all keys are the kit's own, and the books balance."""

import pytest
from support.seeds import LEASE, RETENTION
from support.world import check_books, check_keys

from jobkit.queue import Queue
from jobkit.ready import Streams

STORES = [Streams]
"""Every behaviour is tested with each of them."""


@pytest.fixture(params=STORES, ids=lambda store: store.name)
def store(request):
    return request.param()


@pytest.fixture
def make_queue(redis, store):
    """Make queues on the test's server; their books are checked at the end."""
    made = []

    def make(name="q", client=redis, **settings):
        queue = Queue(client, name, **({"ready": store, "lease": LEASE, "retention": RETENTION} | settings))
        made.append(queue)
        return queue

    yield make
    if made:
        check_keys(redis)
        for queue in made:
            check_books(Queue(redis, queue.name, ready=store))


@pytest.fixture
def queue(make_queue):
    return make_queue()
