"""The bell rings for whatever makes a job due, or due before all others, and only then."""

import threading
import time

import pytest
from support import stores
from support.seeds import seed
from support.wire import listeners

from jobkit.bell import Bell
from jobkit.clock import Clock
from jobkit.submission import New


def submit(*delays):
    return lambda queue, _: queue.submit_many([New("t", delay=delay) for delay in delays])


RINGS = {
    "submit, ready": ("missing", submit(0)),
    "submit, the only one": ("missing", submit(5)),
    "submit, earlier than all": ("scheduled", submit(5)),
    "submit_many, one of them earlier": ("scheduled", submit(99, 5)),
    "submit_many, one of them ready": ("scheduled", submit(99, 0)),
    "promote": ("due", lambda queue, _: queue.promote()),
    "fail, the only one": ("running", lambda queue, claim: queue.fail(claim, "x", delay=5)),
    "fail, without a wait": ("running", lambda queue, claim: queue.fail(claim, "x")),
    "release": ("running", lambda queue, claim: queue.release(claim)),
    "recover": ("late", lambda queue, _: queue.recover()),
    "requeue": ("dead", lambda queue, _: queue.requeue()),
    "repair": ("ready", lambda queue, _: (stores.lose(queue), queue.repair())),
}

SILENT = {
    "submit, later than another": ("scheduled", submit(61, 62)),
    "submit, known": ("ready", lambda queue, _: queue.submit("t", id="j")),
    "promote, nothing due": ("scheduled", lambda queue, _: queue.promote()),
    "claim": ("ready", lambda queue, _: queue.claim("w")),
    "ack": ("running", lambda queue, claim: queue.ack(claim)),
    "extend": ("running", lambda queue, claim: queue.extend(claim)),
    "fail for good": ("running", lambda queue, claim: queue.fail(claim, "x", permanent=True)),
    "fail, asked to stop": ("asked to stop", lambda queue, claim: queue.fail(claim, "x")),
    "release, asked to stop": ("asked to stop", lambda queue, claim: queue.release(claim)),
    "release, again": ("released", lambda queue, claim: queue.release(claim)),
    "recover, nothing late": ("running", lambda queue, _: queue.recover()),
    "recover, buried": ("late, last run", lambda queue, _: queue.recover()),
    "cancel": ("ready", lambda queue, _: queue.cancel("j")),
    "purge": ("dead", lambda queue, _: queue.purge()),
    "counts": ("ready", lambda queue, _: queue.counts()),
}


def rings(queue, act):
    """Count how often the bell rings while one acts; a mark of our own on the channel ends the wait."""
    with queue.redis.pubsub() as listener:
        listener.subscribe(queue.keys.bell)
        assert listener.get_message(timeout=5)["type"] == "subscribe"
        act()
        # By a script with a key: on a cluster, the node that rings keeps the order, and another would not.
        queue.redis.eval("return redis.call('PUBLISH', KEYS[1], ARGV[1])", 1, queue.keys.bell, "the end")
        heard = []
        while True:
            message = listener.get_message(timeout=5)
            assert message or heard is not None
            if message and message["data"] == b"the end":
                return len(heard)
            heard += [message] if message else []


@pytest.mark.parametrize("case", RINGS)
def test_it_rings(queue, case):
    state, act = RINGS[case]
    claim = seed(queue, state)
    assert rings(queue, lambda: act(queue, claim)) >= 1


@pytest.mark.parametrize("case", SILENT)
def test_it_is_silent(queue, case):
    state, act = SILENT[case]
    claim = seed(queue, state)
    assert rings(queue, lambda: act(queue, claim)) == 0


def test_a_failed_job_that_is_not_the_next_is_silent(queue):
    queue.submit_many([New("t"), New("t", delay=5)])
    (claim,) = queue.claim("w")
    assert rings(queue, lambda: queue.fail(claim, "x", delay=50)) == 0


def test_a_requeue_rings_if_it_is_the_next(queue):
    seed(queue, "dead")
    queue.submit("t", id="other", delay=5)
    assert rings(queue, lambda: queue.requeue("j")) == 1


def test_a_piece_of_ones_own_that_promotes_rings(make_queue):
    plain = make_queue()
    queue = make_queue(
        promote=lambda redis, keys, limit: (redis.zrem(keys.delayed, "j"), stores.put(redis, plain, "j"), ["j"])[2]
    )
    queue.submit("t", id="j", delay=5)
    assert rings(queue, queue.promote) == 1


# -- the sleeper ------------------------------------------------------------------------------------


@pytest.fixture
def bell(ticking):
    bell = Bell(ticking, "q:bell", ticking.clock)
    yield bell
    bell.close()


def listening(bell, eventually):
    """The first wait may have missed a ring, and returns at once."""
    assert bell.wait(10) is True
    eventually(lambda: listeners(bell._redis, "q:bell") == 1)


def timed(act):
    began = time.monotonic()
    return act(), time.monotonic() - began


def test_a_ring_wakes_the_sleeper(ticking, bell, eventually):
    listening(bell, eventually)
    bell.floor = 30
    asleep = threading.Event()

    def ring():
        asleep.wait(10)
        ticking.publish("q:bell", "due")

    thread = threading.Thread(target=ring)
    thread.start()
    asleep.set()
    rang, seconds = timed(lambda: bell.wait(30))
    thread.join(10)
    assert rang is True
    assert seconds < 10


def test_many_rings_are_one(ticking, bell, eventually):
    listening(bell, eventually)
    for _ in range(20):
        ticking.publish("q:bell", "due")
    assert bell.wait(10) is True
    assert bell.wait(0) is False


def test_it_sleeps_no_longer_than_told_and_no_longer_than_its_floor(bell, eventually):
    listening(bell, eventually)
    bell.floor = 0.05
    for seconds in (0.02, 60):
        rang, slept = timed(lambda seconds=seconds: bell.wait(seconds))
        assert rang is False
        assert 0.01 <= slept < 5
    assert timed(lambda: bell.wait(-5))[0] is False


def test_who_stops_is_not_kept(bell, eventually):
    listening(bell, eventually)
    bell.floor = 30
    rang, slept = timed(lambda: bell.wait(30, stopped=lambda: True))
    assert (rang, slept < 5) == (False, True)


@pytest.mark.one_server("CLIENT KILL hits one node")
@pytest.mark.live_only("the fake has no CLIENT KILL")
def test_after_a_killed_connection_it_hears_again(ticking, bell, eventually):
    listening(bell, eventually)
    for _ in range(3):
        assert ticking.execute_command("CLIENT", "KILL", "TYPE", "pubsub") >= 1
        # What rang while nobody listened is lost: so the new subscription counts as a ring.
        eventually(lambda: bell.wait(0.2))
        eventually(lambda: ticking.publish("q:bell", "due") and bell.wait(0.5))
        while bell.wait(0):
            pass


def test_without_a_server_it_waits_and_raises_nothing(ticking, bell, monkeypatch):
    class Deaf:
        def subscribe(self, *_):
            raise ConnectionError("no server")

        def close(self):
            raise RuntimeError("worse")

    monkeypatch.setattr(ticking, "pubsub", lambda **_: Deaf())
    rang, slept = timed(lambda: bell.wait(0.03))
    assert rang is False
    assert 0.02 <= slept < 5
    assert isinstance(ticking.clock, Clock)
