"""A scheduler that fires schedules: who does what with a leader, and in time for the next occurrence."""

import logging
import threading

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from support.wire import listeners
from support.world import levels

from jobkit.clock import VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.errors import ConfigError
from jobkit.leader import Leader
from jobkit.queue import Queue
from jobkit.ready import Lists
from jobkit.recurring import Schedules
from jobkit.scheduler import Scheduler
from jobkit.shards import ShardedQueue


@pytest.fixture
def schedules(queue):
    return Schedules(queue)


@pytest.fixture
def staff(queue, schedules):
    """Two schedulers that would lead."""
    return [Scheduler(queue, recurring=schedules, leader=Leader(queue, name)) for name in "ab"]


def test_the_leader_fires_and_all_promote(queue, schedules, staff):
    schedules.add("beat", "t", every=60)
    a, b = staff
    a.tick()
    queue.redis.clock.advance(9)
    a.tick()
    queue.redis.clock.advance(9)
    queue.submit("t")
    queue.submit("t", delay=0.001)
    queue.redis.clock.advance(0.001)
    assert b.tick()[:1] == (1,)
    assert a.tick().wait == pytest.approx(42, abs=2)
    for _ in range(5):
        queue.redis.clock.advance(9)
        a.leader.elect()
    assert [scheduler.tick().occurred for scheduler in (b, a)] == [0, 1]
    assert a.tick().wait == pytest.approx(57, abs=2)


def test_without_a_leader_whoever_comes_first_fires(queue, schedules):
    schedules.add("beat", "t", every=60)
    queue.redis.clock.advance(60)
    assert [Scheduler(queue, recurring=schedules).tick().occurred for _ in range(3)] == [1, 0, 0]


def test_a_standby_does_nothing_until_it_leads(queue, schedules):
    a, b = (Scheduler(queue, recurring=schedules, leader=Leader(queue, name), standby=True) for name in "ab")
    schedules.add("beat", "t", every=5)
    assert a.leader.elect() == 1
    queue.submit("t", delay=5)
    queue.redis.clock.advance(5)
    assert b.tick() == (0, 0, 0, None, 0)
    assert b.tick_lightly() == (0, 0, 0, None, 0)
    assert levels(queue) == (1, 0, 0, 0)
    queue.redis.clock.advance(6)
    assert b.tick()[:1] == (1,)
    assert levels(queue) == (0, 3, 0, 0)
    assert a.tick() == (0, 0, 0, None, 0)


def test_a_tick_makes_all_that_is_due_however_much(queue, schedules):
    for n in range(120):
        schedules.add(f"s{n}", "t", every=60)
    schedules.add("beat", "t", every=1, catch_up="all:1000", grace=0)
    queue.redis.clock.advance(900)
    tick = Scheduler(queue, recurring=schedules).tick()
    assert tick.occurred >= 1020
    assert tick.wait == pytest.approx(1, abs=1)


def test_a_leader_that_was_deposed_learns_it_by_its_write(fake, caplog):
    queue = Queue(fake, "q")
    schedules = Schedules(queue)
    schedules.add("beat", "t", every=20)
    scheduler = Scheduler(queue, recurring=schedules, leader=Leader(queue, "old", lease=60))
    assert scheduler.tick().occurred == 0
    fake.clock.advance(19.5)
    scheduler.tick()
    fake.delete(queue.keys.leader)  # by whatever: an eviction, a failover that lost it
    assert Leader(queue, "new").elect() == 2
    fake.clock.advance(0.9)
    with caplog.at_level(logging.WARNING, "jobkit.scheduler"):
        assert scheduler.tick_lightly().occurred == 0
    assert scheduler.leader.number is None
    assert "old leads q no more" in caplog.text


def test_stamps_from_the_future_are_looked_for_now_and_then(queue, schedules):
    added = schedules.add("beat", "t", every=60)
    queue.redis.hset(queue.keys.schedule + "beat", "last", added.last + 10**9)
    Scheduler(queue, recurring=schedules).tick()
    assert "in the future" in schedules.get("beat").error


def test_what_is_wrong_with_schedules_keeps_nobody_from_promoting(queue, schedules):
    schedules.add("beat", "t", every=5)
    queue.redis.set(queue.keys.totals, "no hash")  # occur.lua will fail, and promote knows no totals
    queue.redis.zadd(queue.keys.delayed, {"j": 1})
    queue.redis.clock.advance(5)
    with pytest.raises(Exception, match="WRONGTYPE"):
        Scheduler(queue, recurring=schedules).tick()
    assert queue.redis.zcard(queue.keys.delayed) == 0
    queue.redis.flushall()


def test_settings_that_make_no_sense(make_queue):
    queue = make_queue()
    with pytest.raises(ConfigError, match="standby"):
        Scheduler(queue, standby=True)
    with pytest.raises(ConfigError, match="two ticks"):
        Scheduler(make_queue("lists", ready=Lists()), leader=Leader(queue, lease=4))
    sharded = ShardedQueue(queue.redis, "many", shards=2)
    for make in (Leader, Schedules, lambda queue: Scheduler(queue, standby=True, leader=1)):
        with pytest.raises(ConfigError, match=r"one of a Queue|one Queue"):
            make(sharded)


# -- the loop -----------------------------------------------------------------------------------------


@pytest.fixture
def background():
    started = []

    def start(scheduler):
        thread = threading.Thread(target=scheduler.run)
        thread.start()
        started.append((scheduler, thread))

    yield start
    for scheduler, _ in started:
        scheduler.stop()
    for _, thread in started:
        thread.join(20)
        assert not thread.is_alive()


def test_it_wakes_for_an_occurrence(make_ticking, background, eventually):
    """The floor is half a minute: it must know by itself when the schedule is due."""
    queue = make_ticking(lease=600)
    background(Scheduler(queue, floor=30, recurring=Schedules(queue), leader=Leader(queue, lease=300)))
    eventually(lambda: listeners(queue.redis, queue.keys.bell) == 1)
    Schedules(queue).add("beat", "t", every=1)
    eventually(lambda: levels(queue)[1] >= 1, within=10)
    claim = queue.claim("w")[0]
    assert claim.created - claim.run_at < 900, "ms late"


def test_one_that_ends_resigns_and_the_other_takes_over_at_once(make_ticking, background, eventually):
    queue = make_ticking(lease=600)
    one, other = (Scheduler(queue, floor=30, leader=Leader(queue, name, lease=300)) for name in "ab")
    background(one)
    eventually(lambda: one.leader.number == 1)
    background(other)
    eventually(lambda: listeners(queue.redis, queue.keys.bell) == 2)
    one.stop()
    eventually(lambda: other.leader.number == 2, within=10)
    assert one.leader.number is None


def test_a_dead_leader_is_followed_within_its_lease(make_ticking, background, eventually):
    queue = make_ticking(lease=600)
    assert Leader(queue, "dead", lease=0.3).elect() == 1
    scheduler = Scheduler(queue, floor=30, leader=Leader(queue, "next", lease=0.3))
    background(scheduler)
    eventually(lambda: scheduler.leader.number == 2, within=10)


def test_a_server_that_is_away_does_not_end_it(make_ticking, background, eventually, monkeypatch):
    queue, schedules, failed = make_ticking(), None, []
    schedules = Schedules(queue)
    fire = schedules.fire

    def fail_at_first(number):
        if len(failed) < 2:
            failed.append(number)
            raise RedisConnectionError("gone")
        return fire(number)

    monkeypatch.setattr(schedules, "fire", fail_at_first)
    schedules.add("beat", "t", every=1)
    background(Scheduler(queue, floor=0.05, recurring=schedules))
    eventually(lambda: levels(queue)[1] >= 1, within=10)
    assert len(failed) == 2


def test_with_lists_it_fires_at_its_ticks():
    with FakeRedis(VirtualClock()).client() as redis:
        queue = Queue(redis, "q", ready=Lists())
        schedules = Schedules(queue)
        schedules.add("beat", "t", every=5)
        scheduler = Scheduler(queue, recurring=schedules)
        assert scheduler.safe_tick() == 2.0
        for _ in range(3):
            redis.clock.advance(2)
            scheduler.safe_tick()
        assert levels(queue)[1] == 1
