"""The lead: one holder at a time, a number that grows with each, and no harm by who lost it."""

import logging
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.rubbish import NO_SECONDS
from support.wire import Wire

from jobkit.clock import VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.errors import DelayError, JobError
from jobkit.leader import Leader
from jobkit.queue import Queue


@pytest.fixture
def pair(queue):
    return Leader(queue, "a"), Leader(queue, "b")


def test_one_leads_and_the_other_stands_by(pair):
    a, b = pair
    assert (a.elect(), b.elect()) == (1, None)
    assert (a.number, b.number, a.holder(), b.holder()) == (1, None, "a", "a")


def test_the_lead_is_kept_by_renewing(queue, pair):
    a, b = pair
    for _ in range(5):
        assert a.elect() == 1
        queue.redis.clock.advance(9)
        assert b.elect() is None


def test_the_standby_takes_over_when_the_lease_is_over(queue, pair, caplog):
    a, b = pair
    a.elect()
    queue.redis.clock.advance(10.001)
    assert a.holder() is None
    with caplog.at_level(logging.INFO, "jobkit.scheduler"):
        caplog.clear()
        assert (b.elect(), a.elect(), a.number) == (2, None, None)
    assert [record.getMessage() for record in caplog.records] == [
        "b leads q, with number 2",
        "a leads q no more: its number was 1",
    ]


def test_who_waits_is_told_how_long(pair):
    a, b = pair
    a.elect()
    b.elect()
    assert a.wait == pytest.approx(10 / 3, abs=0.5)
    assert b.wait == pytest.approx(10, abs=0.5)


def test_a_takeover_takes_a_lease_to_the_millisecond(fake):
    a, b = (Leader(Queue(fake, "q"), name) for name in "ab")
    a.elect()
    fake.clock.advance(2)
    b.elect()
    fake.clock.advance(b.wait - 0.001)
    assert b.elect() is None
    fake.clock.advance(0.001)
    assert b.elect() == 2


def test_the_number_outlives_the_lease_and_is_never_used_again(queue, pair):
    a, b = pair
    numbers = []
    for leader in (a, b, a, a, b):
        numbers.append(leader.elect())
        queue.redis.clock.advance(11)
    assert numbers == [1, 2, 3, 4, 5]


def test_only_the_owner_renews(queue, pair):
    """PEXPIRE without a look at the owner: two leaders."""
    a, b = pair
    a.elect()
    queue.redis.clock.advance(11)
    b.elect()
    queue.redis.clock.advance(9)
    assert a.elect() is None
    queue.redis.clock.advance(1.5)
    assert b.holder() is None


def test_only_the_owner_resigns(queue, pair):
    a, b = pair
    a.elect()
    b.resign()
    assert a.holder() == "a"
    a.resign()
    assert (a.number, a.holder()) == (None, None)
    assert b.elect() == 2
    a.resign()
    assert b.holder() == "b"


def test_who_leads_asks_each_third_of_the_lease_and_who_does_not_each_time(fake):
    wire = Wire()
    queue = Queue(wire.client(fake), "q")
    a, b = Leader(queue, "a", lease=9), Leader(queue, "b", lease=9)
    a.elect()  # the server learns the script
    fake.clock.advance(9)
    for leader, asked in ((a, 4), (b, 12)):
        before = wire.scripts()
        for _ in range(12):
            leader.lead()
            if leader is b:
                a.lead()
            fake.clock.advance(1)
        assert wire.scripts() - before - (4 if leader is b else 0) == asked


@pytest.mark.parametrize("known", [True, False])
def test_a_lost_reply_is_answered_by_the_same_call_again(make_queue, redis, known):
    wire = Wire()
    a = Leader(make_queue(client=wire.client(redis)), "a")
    make_queue().counts()
    if known:
        assert a.elect() == 1
        a.resign()
    else:
        redis.script_flush()
    wire.lose = 1 if known else 2
    assert a.elect() == (2 if known else 1)
    assert wire.lost == 1
    assert redis.get(a.queue.keys.terms) == (b"2" if known else b"1")
    wire.lose = 1
    a.resign()
    assert wire.lost == 2
    assert a.holder() is None


def test_a_number_that_was_evicted_is_made_anew(queue, pair):
    a, b = pair
    a.elect()
    queue.redis.delete(queue.keys.terms)
    assert a.elect() == 1
    queue.redis.clock.advance(11)
    assert b.elect() == 2


def test_names(queue):
    assert Leader(queue, rng=Random(1)).name == Leader(queue, rng=Random(1)).name
    assert Leader(queue).name != Leader(queue).name
    for bad in (5, "x" * 201):
        with pytest.raises(JobError, match="a leader's name"):
            Leader(queue, bad)


@pytest.mark.parametrize("name", NO_SECONDS)
def test_a_lease_is_seconds(queue, name):
    with pytest.raises(DelayError, match="lease"):
        Leader(queue, lease=NO_SECONDS[name])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", "a resigns", "b resigns"]), st.integers(0, 12_000))))
def test_whatever_happens_one_leads_and_numbers_grow(steps):
    """Held against a model: who holds the lease, and until when."""
    with FakeRedis(VirtualClock()).client() as redis:
        leaders = {name: Leader(Queue(redis, "q"), name) for name in "abc"}
        holder, until, number, now = None, 0, 0, 0
        for who, wait in steps:
            if holder is not None and now >= until:
                holder = None
            name, _, resigns = who.partition(" ")
            if resigns:
                leaders[name].resign()
                holder = None if holder == name else holder
            else:
                if holder is None:
                    holder, number = name, number + 1
                if holder == name:
                    until = now + 10_000
                assert leaders[name].elect() == (number if holder == name else None)
            assert leaders["c"].holder() == holder
            redis.clock.advance(wait / 1000)
            now += wait
