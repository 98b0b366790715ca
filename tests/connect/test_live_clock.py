"""Moving the time of a real server: afterwards everything looks as if time had passed."""

import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobkit.clock import Clock, VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.connect.liveclock import PAGE
from jobkit.errors import DelayError
from jobkit.keys import GROUP, Keys

KEYS = Keys("mail", prefix="lab:")
LATER = "local t = redis.call('TIME') return t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[1]"
SECONDS = 10_000
"""One step of the programs below, in ms: far more than the seconds that a test really takes."""


def now(client):
    return client.eval(LATER, 0, 0)


def due(client, key=KEYS.delayed):
    return client.zrange(key, "-inf", now(client), byscore=True)


def pending(client, stream=KEYS.ready):
    return client.xpending_range(stream, GROUP, "-", "+", 10_000)


def test_a_delayed_job_is_due_and_the_order_stays(live):
    start = now(live)
    live.zadd(KEYS.delayed, {f"j{n}": start + 60_000 + n // 3 for n in range(30)})
    before = live.zrange(KEYS.delayed, 0, -1)
    assert due(live) == []
    live.clock.advance(59)
    assert due(live) == []
    live.clock.advance(2)
    assert due(live) == before == live.zrange(KEYS.delayed, 0, -1)
    assert live.zscore(KEYS.delayed, "j29") == start + 60_009 - 61_000


def test_a_key_whose_time_is_over_is_gone(live):
    live.set("gone", 1, px=60_000)
    live.set("stays", 1, px=600_000)
    live.set("for ever", 1)
    live.hset("hash", "a", 1)
    live.expire("hash", 60)
    live.clock.advance(60)
    assert sorted(live.scan_iter()) == [b"for ever", b"stays"]
    assert 530_000 < live.pttl("stays") <= 540_000
    assert live.ttl("for ever") == -1


def test_pending_entries_are_idle_for_longer_and_keep_the_rest(live):
    live.xgroup_create(KEYS.ready, GROUP, id="0", mkstream=True)
    ids = [live.xadd(KEYS.ready, {"id": f"j{n}"}) for n in range(6)]
    live.xreadgroup(GROUP, "ada", {KEYS.ready: ">"}, count=4)
    live.xclaim(KEYS.ready, GROUP, "bob", 0, [ids[1]])  # a second delivery
    live.clock.advance(30)
    entries = pending(live)
    assert [entry["message_id"] for entry in entries] == ids[:4]
    assert [entry["consumer"] for entry in entries] == [b"ada", b"bob", b"ada", b"ada"]
    assert [entry["times_delivered"] for entry in entries] == [1, 2, 1, 1]
    assert all(30_000 <= entry["time_since_delivered"] < 40_000 for entry in entries)
    assert live.xautoclaim(KEYS.ready, GROUP, "eve", 60_000, "0", justid=True) == []
    live.clock.advance(30)
    assert live.xautoclaim(KEYS.ready, GROUP, "eve", 60_000, "0", justid=True) == ids[:4]
    assert live.xreadgroup(GROUP, "ada", {KEYS.ready: ">"})[0][1] == [
        (ids[4], {b"id": b"j4"}),
        (ids[5], {b"id": b"j5"}),
    ]


def test_a_pending_entry_that_was_deleted_stays_as_it_is(live):
    live.xgroup_create(KEYS.ready, GROUP, id="0", mkstream=True)
    ids = [live.xadd(KEYS.ready, {"id": f"j{n}"}) for n in range(3)]
    live.xreadgroup(GROUP, "ada", {KEYS.ready: ">"})
    live.xdel(KEYS.ready, ids[1])
    live.clock.advance(30)
    entries = pending(live)
    assert [entry["message_id"] for entry in entries] == ids
    assert [entry["time_since_delivered"] >= 30_000 for entry in entries] == [True, False, True]


def test_all_groups_of_all_streams(live):
    for stream in ("s1", "s2"):
        live.xadd(stream, {"a": 1})
        for group in ("g1", b"g\xff2"):
            live.xgroup_create(stream, group, id="0")
            live.xreadgroup(group, "c", {stream: ">"})
    live.clock.advance(100)
    for stream in ("s1", "s2"):
        for group in ("g1", b"g\xff2"):
            assert live.xpending_range(stream, group, "-", "+", 1)[0]["time_since_delivered"] >= 100_000


def test_the_moments_in_records_move_and_nothing_else_does(live):
    start = now(live)
    record = {
        "created": start,
        "run_at": start + 60_000,
        "started": "",
        "payload": "1767225600000 1767225600000",
        "history:1": f"{start} {start + 5} SMTPError: 1767225600000",
        "history:2": "unreadable",
        "attempt": 3,
    }
    live.hset(KEYS.job + "a}{b:c", mapping=record)
    live.hset("somebody's", mapping=record)
    live.clock.advance(60)
    told = {name.decode(): value.decode() for name, value in live.hgetall(KEYS.job + "a}{b:c").items()}
    assert told == {
        **{name: str(value) for name, value in record.items()},
        "created": str(start - 60_000),
        "run_at": str(start),
        "history:1": f"{start - 60_000} {start - 59_995} SMTPError: 1767225600000",
    }
    assert live.hget("somebody's", "created") == str(start).encode()


def test_which_sorted_sets_hold_moments(live):
    start = now(live)
    live.zadd("board", {"a": start, "b": start + 1})
    live.zadd("scores", {"ada": 3, "bob": start})
    live.zadd("lab:{mail}:other", {"a": start})
    live.zadd("endless", {"a": start, "b": "+inf"})
    live.clock.advance(1)
    assert live.zrange("board", 0, -1, withscores=True) == [(b"a", start - 1000), (b"b", start - 999)]
    assert live.zscore("scores", "bob") == start
    assert live.zscore("lab:{mail}:other", "a") == start
    assert live.zscore("endless", "a") == start


def test_more_than_a_page_of_everything(live):
    start, many = now(live), 2 * PAGE + 7
    live.zadd(KEYS.delayed, {f"j{n}": start + 60_000 + n // (PAGE + 1) for n in range(many)})
    live.xgroup_create(KEYS.ready, GROUP, id="0", mkstream=True)
    pipe = live.pipeline()
    for n in range(many):
        pipe.xadd(KEYS.ready, {"id": n})
        pipe.hset(f"{KEYS.job}j{n}", "created", start)
    pipe.execute()
    live.xreadgroup(GROUP, "ada", {KEYS.ready: ">"})
    order = live.zrange(KEYS.delayed, 0, -1)
    live.clock.advance(120)
    assert due(live) == order
    assert {entry["time_since_delivered"] // SECONDS for entry in pending(live)} == {12}
    assert {live.hget(f"{KEYS.job}j{n}", "created") for n in range(many)} == {str(start - 120_000).encode()}


def test_it_is_one_clock_for_all_clients_and_it_really_sleeps(live, live_server):
    other = live_server.client(prefix="other:")
    assert other.clock is live.clock
    assert live.clock.can_advance
    assert not live.clock.virtual
    before = Clock().monotonic()
    live.clock.sleep(0.02)
    assert Clock().monotonic() - before >= 0.02
    assert abs(live.clock.now() - now(live)) < 1000
    with pytest.raises(DelayError):
        live.clock.advance(float("nan"))
    live.set("k", 1, px=1000)
    live.clock.advance(0)
    live.clock.advance(-5)
    assert live.get("k")


@pytest.mark.one_server("a cluster's client has no client()")
def test_what_is_written_meanwhile_is_moved_once_or_not_at_all(live):
    """Others go on working while the pages are turned: their jobs count as before, or as after."""
    start = now(live)
    live.zadd(KEYS.delayed, {f"old{n}": start + 100_000 + n for n in range(5 * PAGE)})
    added, over = [], threading.Event()

    def others():
        with live.client() as client:
            while not over.is_set():
                name = f"new{len(added)}"
                client.zadd(KEYS.delayed, {name: start + 100_000 + (len(added) * 37) % (5 * PAGE)})
                client.zrem(KEYS.delayed, f"old{len(added) * 3}")
                added.append(name)

    thread = threading.Thread(target=others)
    thread.start()
    live.clock.advance(50)
    over.set()
    thread.join()
    for name, score in live.zrange(KEYS.delayed, 0, -1, withscores=True):
        number = int(name.lstrip(b"oldnew"))
        written = start + 100_000 + (number if name.startswith(b"old") else (number * 37) % (5 * PAGE))
        assert written - score in ({50_000} if name.startswith(b"old") else {0, 50_000})


STEPS = st.one_of(
    st.tuples(st.just("delay"), st.integers(0, 5), st.integers(0, 6)),
    st.tuples(st.just("board"), st.integers(0, 5), st.integers(0, 6)),
    st.tuples(st.just("expire"), st.integers(0, 3), st.integers(1, 6)),
    st.tuples(st.just("add"), st.integers(0, 5)),
    st.tuples(st.just("read"), st.sampled_from("ab"), st.integers(1, 3)),
    st.tuples(st.just("claim"), st.sampled_from("ab"), st.integers(1, 6)),
    st.tuples(
        st.just("ack"),
    ),
    st.tuples(st.just("advance"), st.integers(1, 4)),
)


def run(client, program):
    """Run a program on a server; what can be seen after each step, with times in whole steps."""
    client.xgroup_create(KEYS.ready, GROUP, id="0", mkstream=True)
    seen = []
    for step, (verb, *args) in enumerate(program):
        answer = None
        match verb:
            case "delay" | "board":
                key = KEYS.delayed if verb == "delay" else "board"
                moment = now(client) + args[1] * SECONDS + SECONDS // 2 + 20 * step  # later steps are later, on both
                client.zadd(key, {f"j{args[0]}": moment})
            case "expire":
                client.set(f"k{args[0]}", "v", px=args[1] * SECONDS - SECONDS // 2)
            case "add":
                client.xadd(KEYS.ready, {"id": args[0]})
            case "read":
                reply = client.xreadgroup(GROUP, args[0], {KEYS.ready: ">"}, args[1])
                answer = [fields for _, fields in reply[0][1]] if reply else []
            case "claim":
                reply = client.xautoclaim(KEYS.ready, GROUP, args[0], args[1] * SECONDS - SECONDS // 2, "0")
                answer = [fields for _, fields in reply[1]]
            case "ack":
                for entry in pending(client)[:1]:
                    client.xack(KEYS.ready, GROUP, entry["message_id"])
                    client.xdel(KEYS.ready, entry["message_id"])
            case "advance":
                client.clock.advance(args[0] * SECONDS / 1000)
        seen.append((verb, answer, visible(client)))
    return seen


def visible(client):
    return {
        "due": [due(client), due(client, "board")],
        "waiting": [client.zrange(key, 0, -1) for key in (KEYS.delayed, "board")],
        "in": [
            (name, round((score - now(client)) / SECONDS + 0.25))
            for name, score in client.zrange(KEYS.delayed, 0, -1, withscores=True)
        ],
        "keys": {key: round(client.pttl(key) / SECONDS + 0.25) for key in sorted(client.scan_iter("k*"))},
        "pending": [
            (entry["consumer"], entry["times_delivered"], entry["time_since_delivered"] // SECONDS)
            for entry in pending(client)
        ],
        "stream": [fields for _, fields in client.xrange(KEYS.ready)],
    }


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(STEPS, max_size=25))
def test_the_live_clock_shows_what_the_fakes_clock_shows(live, program):
    live.flushall()
    assert run(live, program) == run(FakeRedis(VirtualClock()).client(), program)
