"""Replies lost on a real line, with a client that redis-py made by its own defaults.

Those differ: 5.3 sends once and raises, so the caller calls again; 8.1 sends up to eleven times by
itself, in RESP3. Either way each verb ends in the state that it has without the loss, and a claim
is sent once.
"""

from itertools import count
from random import Random
from urllib.parse import urlsplit

import pytest
import redis as redis_py
from core.test_lost_replies import VERBS, whole
from support.operations import finish, make, mixed, staff
from support.proxy import Proxy
from support.seeds import seed
from support.world import levels

from jobkit.connect import PrivateServer
from jobkit.queue import Queue
from jobkit.submission import New

pytestmark = pytest.mark.live_only(reason="a real line needs a real server")


@pytest.fixture(scope="module")
def line(live_server):
    """A server of its own on TCP, and a proxy before it."""
    with PrivateServer(over="loopback") as server, Proxy(urlsplit(server.info.address).port) as proxy:
        yield server, proxy


@pytest.fixture
def server(line):
    with line[0].client() as client:
        client.flushall()
        yield client


@pytest.fixture
def proxy(line):
    line[1].lose = line[1].lost = line[1].scripts = 0
    return line[1]


@pytest.fixture
def plain(line, proxy):
    """A client as anybody makes it, whose line is the proxy."""
    password = urlsplit(line[0].info.address).password
    with redis_py.Redis(host="127.0.0.1", port=proxy.port, password=password) as client:
        yield client


def called_again(act, *args, again=True):
    """Do it; whoever is told that the line broke does it again."""
    try:
        return act(*args)
    except redis_py.ConnectionError:
        return act(*args) if again else None


@pytest.mark.parametrize("verb", VERBS)
def test_the_same_state_as_without_the_loss(server, plain, proxy, store, verb):
    state, act = VERBS[verb]

    def run(lose):
        server.flushall()
        queue = Queue(plain, "q", ready=store, rng=Random(5))
        claim = seed(Queue(server, "q", ready=store, rng=Random(4)), state)
        proxy.lose = lose
        called_again(act, queue, claim, again=verb != "submit, fresh id")  # called again, it is another job
        assert proxy.lost == min(lose, 1)
        return whole(server)

    assert run(lose=0) == run(lose=1)  # by the second run the server knows the script


@pytest.mark.parametrize("act", [lambda q: q.claim("w"), lambda q: q.ack_and_claim([], "w", 2)], ids=["one", "two"])
def test_a_claim_is_sent_once_and_costs_a_lease(server, plain, proxy, store, act):
    queue, seen = Queue(plain, "q", ready=store), Queue(server, "q", ready=store)
    queue.submit_many([New("t") for _ in range(3)])
    (first,) = queue.claim("w")
    queue.ack(first)
    proxy.lose, before = 1, proxy.scripts
    with pytest.raises(redis_py.ConnectionError):
        act(queue)
    assert (proxy.lost, proxy.scripts - before) == (1, 1)
    running = levels(seen)[2]
    assert running >= 1
    server.clock.advance(31)
    assert seen.recover() == (running, 0)
    assert sum(len(seen.claim("w", 5)) for _ in range(3)) == 2


def test_every_reply_of_a_round_lost_in_its_turn(server, plain, proxy, store):
    """Whatever reply it is: every job ends as it would have, with its effect applied once."""
    queue = make(server, store)
    for lost in count(1):
        server.flushall()
        mixed(queue)
        proxy.lose, proxy.lost = lost, 0
        called_again(staff(make(plain, store), batch=5).step)
        assert sorted(finish(queue).values()) == ["dead", "dead", "done", "done", "done"]
        if not proxy.lost:
            break
    assert lost > 10
