"""The fake's time is its clock's, everywhere, and nobody else's."""

import contextlib
import gc
import sys
import threading
import time

import fakeredis
import pytest
import redis
from hypothesis import example, given
from hypothesis import strategies as st

from jobkit.clock import Clock, VirtualClock
from jobkit.connect.fake import FakeRedis, MovableClock
from jobkit.connect.faketime import ClockSocket, _seconds

START = 1_767_225_600_000
TIME_IN_LUA = "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000)"


def now(client):
    seconds, microseconds = client.time()
    return seconds * 1000 + microseconds // 1000


def test_time_and_time_in_lua_follow_the_clock(fake):
    assert now(fake) == fake.eval(TIME_IN_LUA, 0) == START
    fake.clock.advance(5)
    assert now(fake) == fake.eval(TIME_IN_LUA, 0) == START + 5000


def test_expiry_follows_the_clock_to_the_millisecond(fake):
    fake.set("k", "v", px=5000)
    fake.clock.advance(4.999)
    assert fake.pttl("k") == 1
    fake.clock.advance(0.001)
    assert fake.get("k") is None
    assert fake.dbsize() == 0


@given(start=st.integers(1_000_000_000_000, 2_500_000_000_000), ttl=st.integers(1, 10**10))
def test_a_key_lives_for_exactly_its_ttl(start, ttl):
    clock = VirtualClock(start)
    client = FakeRedis(clock).client()
    client.set("k", "v", px=ttl)
    clock.advance((ttl - 1) / 1000)
    assert client.exists("k")
    assert client.pttl("k") == 1
    clock.advance(0.001)
    assert client.keys() == []


@pytest.mark.parametrize("write", ["PSETEX k 1000 v", "SETEX k 1 v", "SET k v EX 1", "SET k v PX 1000"])
def test_expiries_are_not_cut_down_to_whole_seconds(write):
    client = FakeRedis(VirtualClock(START + 900)).client()
    client.execute_command(*write.split())
    assert client.pttl("k") == 1000


def test_ids_and_idle_times_of_streams_follow_the_clock(fake):
    fake.xgroup_create("s", "g", id="0", mkstream=True)
    assert fake.xadd("s", {"a": 1}) == f"{START}-0".encode()
    fake.xreadgroup("g", "ada", {"s": ">"})
    fake.clock.advance(10)
    assert fake.xadd("s", {"a": 2}) == f"{START + 10_000}-0".encode()
    (entry,) = fake.xpending_range("s", "g", "-", "+", 10)
    assert entry["time_since_delivered"] == 10_000
    assert fake.xpending_range("s", "g", "-", "+", 10, idle=10_001) == []
    assert fake.xinfo_consumers("s", "g")[0]["idle"] == 10_000
    assert fake.xautoclaim("s", "g", "bob", 10_001, "0")[1] == []
    assert len(fake.xautoclaim("s", "g", "bob", 10_000, "0", justid=True)) == 1
    assert fake.xpending_range("s", "g", "-", "+", 10)[0]["time_since_delivered"] == 0
    fake.xclaim("s", "g", "eve", 0, [entry["message_id"]], idle=700)
    assert fake.xpending_range("s", "g", "-", "+", 10)[0]["time_since_delivered"] == 700


def test_fakes_with_different_clocks_live_side_by_side():
    clocks = [VirtualClock(START + n * 86_400_000) for n in range(3)]
    clients = [FakeRedis(clock).client() for clock in clocks]
    for _ in range(3):
        for clock, client in zip(clocks, clients, strict=True):
            assert now(client) == client.eval(TIME_IN_LUA, 0) == clock.now()
            clock.advance(1)


def test_threads_never_see_each_others_time():
    wrong = []

    def look(client):
        clock = client.clock
        for _ in range(300):
            if now(client) != clock.now() or client.eval(TIME_IN_LUA, 0) != clock.now():
                wrong.append(clock)
            clock.advance(1)

    threads = [threading.Thread(target=look, args=[FakeRedis(VirtualClock(n * 10**12)).client()]) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_rest_of_the_process_keeps_real_time(fake):
    assert now(fake) == START
    assert abs(time.time() * 1000 - Clock().now()) < 1000
    plain = fakeredis.FakeRedis(server=fakeredis.FakeServer(), protocol=2)
    assert abs(now(plain) - Clock().now()) < 1000
    assert abs(plain.eval(TIME_IN_LUA, 0) - Clock().now()) < 1000


def test_no_module_of_fakeredis_was_forgotten(fake):
    asking = [
        name
        for name, module in sys.modules.items()
        if name.startswith("fakeredis.") and (getattr(module, "time", None) is time or "datetime" in vars(module))
    ]
    assert asking == []


@given(st.integers(0, 4_102_444_800_000))
@example(1001)
def test_milliseconds_survive_the_fakes_floats(ms):
    assert int(1000 * _seconds(ms)) == ms
    assert round(_seconds(ms) * 1_000_000) == ms * 1000


def test_a_fake_without_a_clock_runs_in_real_time_and_can_be_moved():
    client = FakeRedis().client()
    assert isinstance(client.clock, MovableClock)
    before = Clock().now()
    assert before <= now(client) <= Clock().now()
    client.set("k", "v", px=60_000)
    client.clock.advance(60)
    assert now(client) >= before + 60_000
    assert client.get("k") is None


def test_a_fake_of_one_seed_repeats_itself():
    def trace():
        clock = VirtualClock()
        client = FakeRedis(clock).client()
        client.xgroup_create("s", "g", id="0", mkstream=True)
        out = []
        for n in range(5):
            clock.advance(0.1 * n)
            out += [client.xadd("s", {"n": n}), client.time(), client.xreadgroup("g", "c", {"s": ">"})]
        return out

    assert trace() == trace()


def test_a_pipeline_that_is_collected_in_mid_command_does_not_hang():
    client = FakeRedis(VirtualClock()).client()
    pipe = client.pipeline()
    pipe.watch("key")
    server = client.connection_pool.connection_kwargs["server"]
    with server.lock:  # as a thread does that runs a command
        del pipe
        gc.collect()
    assert client.ping()


def test_a_connection_may_be_closed_while_a_thread_is_in_the_middle_of_its_command(monkeypatch):
    fake, inside, blocking = FakeRedis(), threading.Event(), ClockSocket._blocking

    def noted(*args, **more):
        inside.set()
        return blocking(*args, **more)

    monkeypatch.setattr(ClockSocket, "_blocking", noted)
    with fake.client() as client, fake.client() as other:

        def waits():
            with contextlib.suppress(redis.ConnectionError):
                client.blpop(["list"], 30)

        thread = threading.Thread(target=waits)
        thread.start()
        assert inside.wait(5)
        client.close()
        other.rpush("list", "x")
        thread.join(5)
        assert not thread.is_alive()
