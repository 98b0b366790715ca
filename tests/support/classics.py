"""The programs of the explorer's table: what goes wrong with queues, locks and marks, and how it is put right.

`published` are the counts of the prototype whose table this was: schedules without and with sleep
sets. Its programs were not kept, so these are written anew from their names; `why` says what makes a
difference.
"""

import time
from collections import Counter
from dataclasses import dataclass, field

from redis.exceptions import WatchError

from jobkit.explore import each_runs_once, jobs, nothing_lost

LEASE = {"nx": True, "px": 1000}
DELETE_OWN = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
LOCK_WITH_WITNESS = """
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 1000) then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', 1000)
return 1
"""
LEAD = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', 1000) then return redis.call('INCR', KEYS[2]) end return 0"
WRITE_FENCED = """
if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[2]) or 0) then return 0 end
redis.call('SET', KEYS[2], ARGV[1])
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""
CLAIM = """
local due = redis.call('ZRANGE', KEYS[1], 0, 0)
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('RPUSH', KEYS[2], id)
end
return due
"""


def due(r):
    return r.zrange("delayed", "-inf", int(time.time() * 1000), byscore=True, offset=0, num=10)


def racy(r, w):
    for job in due(r):
        r.zrem("delayed", job)
        w.effect(f"run {job.decode()}")


def checked(r, w):
    for job in due(r):
        if r.zrem("delayed", job):
            w.effect(f"run {job.decode()}")


def checked_then_pushed(r):
    for job in due(r):
        if r.zrem("delayed", job):
            r.rpush("ready", job)


def moved(*, transaction):
    def move(r):
        for job in due(r):
            r.pipeline(transaction=transaction).zrem("delayed", job).rpush("ready", job).execute()

    return move


def watched(r):
    with r.pipeline() as pipe:
        pipe.watch("delayed")
        for job in pipe.zrange("delayed", 0, 0):
            pipe.multi()
            pipe.zrem("delayed", job).rpush("ready", job)
            try:
                pipe.execute()
            except WatchError:
                return


def popped(r, w):
    for job, _ in r.zpopmin("delayed"):
        w.effect(f"run {job.decode()}")


def scripted(r):
    r.eval(CLAIM, 2, "delayed", "ready")


def no_double(world):
    """No job stands in the ready list twice."""
    found = Counter(world.redis.lrange("ready", 0, -1))
    return next((f"{job.decode()} is there {n} times" for job, n in found.items() if n > 1), None)


class Room:
    """A room that one worker at a time may be in, and the set-up that empties it."""

    def __init__(self):
        self.inside = []

    def __call__(self, _redis):
        self.inside.clear()

    def pause(self, r, w):
        if r.set("lock", w.name, **LEASE):
            self.inside.append(w.name)
            w.effect("works")
            self.inside.remove(w.name)
            r.delete("lock")

    def crowded(self, _world):
        return len(self.inside) > 1


def released(unlock):
    def work(r, w):
        if r.eval(LOCK_WITH_WITNESS, 2, "lock", "witness", w.name):
            w.effect("works")
            unlock(r, w)

    return work


def plain_delete(r, _w):
    r.delete("lock")


def delete_own(r, w):
    r.eval(DELETE_OWN, 1, "lock", w.name)


def lock_lost(world):
    """The lock is somebody else's, or gone, though who took it last has not released it, and its time is not over."""
    owner = world.redis.get("witness")
    return owner is not None and owner.decode() not in world.answers and world.redis.get("lock") != owner


RENEWALS = {"A": 5000, "B": 9000}


def renewed(r, w):
    if r.set("lock", w.name, **LEASE):
        r.pexpire("lock", RENEWALS[w.name])
        r.delete("lock")


def renewed_by_another(world):
    owner = world.redis.get("lock")
    others = [ms for name, ms in RENEWALS.items() if owner != name.encode()]
    return owner is not None and world.redis.pttl("lock") in others


def led(r, w):
    token = r.eval(LEAD, 2, "lease", "token", w.name)
    if token:
        r.set("value", token)


def led_fenced(r, w):
    token = r.eval(LEAD, 2, "lease", "token", w.name)
    if token:
        r.eval(WRITE_FENCED, 2, "value", "fence", token)


def newest_value(world):
    value, token = world.redis.get("value"), world.redis.get("token")
    return value in {None, token} or f"the value is leader {value.decode()}'s, and {token.decode()} is the newest"


def got_then_set(r, w):
    if r.get("lock") is None:
        r.set("lock", w.name)
        w.effect("enters")


def set_if_absent(r, w):
    if r.set("lock", w.name, nx=True):
        w.effect("enters")


def one_enters(world):
    return len(world.effects) < 2


def marked_first(r, w):
    if r.set("mark", 1, nx=True):
        w.effect("pays")


def marked_after(r, w):
    if not r.get("mark"):
        w.effect("pays")
        r.set("mark", 1)


def mark_is_true(world):
    return bool(world.redis.get("mark")) == bool(world.effects)


def consumer(r, w):
    found = r.blpop("ready", timeout=1)
    if found:
        w.effect(f"run {found[1].decode()}")


def producer(r):
    for job in ("j0", "j1"):
        r.rpush("ready", job)


class Stream:
    """A set-up: one job in a stream with a group."""

    ids = ("j0",)

    def __call__(self, r):
        r.xgroup_create("stream", "group", id="0", mkstream=True)
        r.xadd("stream", {"job": "j0"}, id="1-1")


def streamed(*, ack_first):
    """Take what is new, or else what another has left behind."""

    def work(r, w):
        new = r.xreadgroup("group", w.name, {"stream": ">"}, count=1)
        entries = new[0][1] if new else r.xautoclaim("stream", "group", w.name, 0, count=1)[1]
        for entry, fields in entries:
            if ack_first:
                r.xack("stream", "group", entry)
            w.effect(f"run {fields[b'job'].decode()}")
            if not ack_first:
                r.xack("stream", "group", entry)

    return work


@dataclass(frozen=True)
class Case:
    """A program, what is to come out, and what came out elsewhere."""

    workers: list
    settings: dict
    steps: int | None = None
    """Of the shortest failure; None: it is clean."""
    plain: int = 0
    reduced: int = 0
    published: tuple = ()
    why: str = field(default="")


_room = Room()
JUMP = {"clock_jump": 2}
ONE, TWO = {"given": jobs(1)}, {"given": jobs(2)}
ONCE = {"finally_": each_runs_once}
NONE_LOST = {"finally_": [no_double, nothing_lost("delayed", "ready")]}
CRASH = {"crashes": 1}
MANY = 20_000
"""More than that."""

EACH_MOMENT = "a promise that is held against every moment leaves nothing to reduce"
SCRIPT = "what a script touches is known when it has run"
LEFT = "one who finds nothing new looks at what was left behind: a step more"
CRASHES = "no command sees a crash"
MIDDLE = "one that turns out in the middle to be known counts, too"
LAST = "a moment counts anew for each who ran last, so that what forces the least comes first"
UNWATCH = f"one who finds nothing unwatches, and is done; {CRASHES}"
LAST_DEL = f"a DEL at the end; {EACH_MOMENT}"

_pause = JUMP | {"given": _room, "never": _room.crowded}
_lock = JUMP | {"never": lock_lost}
_stream = {"given": Stream()} | ONCE | CRASH
_newest = JUMP | {"finally_": newest_value}

CASES = {
    "ZRANGE, ZREM": Case([racy] * 2, ONE | ONCE, 6, 16, 10, (16, 8), LAST),
    "ZRANGE, ZREM, 3 workers": Case([racy] * 3, TWO | ONCE, 9, MANY, 9714, (MANY, 4000), MIDDLE),
    "pause within a lease": Case([_room.pause] * 2, _pause, 3, 42, 42, (42, 38), EACH_MOMENT),
    "ZREM checked": Case([checked] * 2, TWO | ONCE, None, 82, 30, (82, 28), LAST),
    "ZREM checked, 3 workers": Case([checked] * 3, TWO | ONCE, None, 10_242, 942, (10_242, 708), MIDDLE),
    "ZREM checked, RPUSH": Case([checked_then_pushed] * 2, ONE | NONE_LOST | CRASH, 4, 46, 18, (46, 28), CRASHES),
    "pipeline": Case([moved(transaction=False)] * 2, ONE | NONE_LOST, 6, 16, 10, (16, 8), LAST),
    "MULTI/EXEC": Case([moved(transaction=True)] * 2, ONE | NONE_LOST, 4, 6, 4, (6, 4)),
    "WATCH": Case([watched] * 2, ONE | NONE_LOST | CRASH, None, 88, 26, (104, 36), UNWATCH),
    "ZPOPMIN": Case([popped] * 2, TWO | ONCE, None, 6, 6, (6, 6)),
    "ZPOPMIN, crash": Case([popped] * 2, ONE | ONCE | CRASH, 3, 14, 8, (14, 12), CRASHES),
    "Lua claim": Case([scripted] * 3, {"given": jobs(3)} | NONE_LOST | CRASH, None, 24, 12, (24, 21), CRASHES),
    "DEL releases": Case([released(plain_delete)] * 2, _lock, 5, 52, 52, (52, 38), EACH_MOMENT),
    "compare, DEL": Case([released(delete_own)] * 2, _lock, None, 52, 52, (52, 38), EACH_MOMENT),
    "renewed unchecked": Case([renewed] * 2, JUMP | {"never": renewed_by_another}, 4, 42, 42, (35, 32), LAST_DEL),
    "old leader": Case([led] * 2, _newest, 5, 18, 18, (18, 14), SCRIPT),
    "old leader, fenced": Case([led_fenced] * 2, _newest, None, 18, 18, (18, 14), SCRIPT),
    "GET, SET": Case([got_then_set] * 2, {"finally_": one_enters}, 6, 16, 10, (16, 8), LAST),
    "SET NX": Case([set_if_absent] * 2, {"finally_": one_enters}, None, 4, 4, (4, 4)),
    "mark, effect": Case([marked_first], {"finally_": mark_is_true} | CRASH, 2, 3, 3, (3, 3)),
    "effect, mark": Case([marked_after], {"finally_": mark_is_true} | CRASH, 3, 4, 4, (4, 4)),
    "BLPOP": Case([consumer, consumer, producer], {}, None, 120, 73, (120, 60), LAST),
    "stream, ack after": Case([streamed(ack_first=False)] * 2, _stream, 7, 128, 44, (46, 34), LEFT),
    "stream, ack before": Case([streamed(ack_first=True)] * 2, _stream, 5, 92, 50, (54, 42), LEFT),
}
