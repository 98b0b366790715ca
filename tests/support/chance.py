"""Random programs for the explorer: workers of a few steps on a few keys, so that they get in each other's way.

A step is a line: a command; BOTH, a MULTI/EXEC block, with what is watched and read before it;
PIPE, a plain pipeline; LUA; EFFECT; SLEEP; RAISE. A step after IF runs if the last reply was
something. `A` in a line is the worker's own name. What a worker was answered is what it returns.
"""

import random
import time

from redis.exceptions import ResponseError, WatchError

from jobkit.explore.snapshot import snapshot

GIVEN = {
    "s": "SET s 1",
    "l": "RPUSH l x y",
    "m": "RPUSH m x",
    "h": "HSET h f 1",
    "z": "ZADD z 1 x 2 y",
    "t": "SADD t x y",
    "x": "XGROUP CREATE x g 0 MKSTREAM|XADD x 1-1 f v|XADD x 2-1 f w",
}
"""What there is at the beginning, of the keys that a program uses."""

STRINGS = "SET s A|GET s|INCR n|APPEND s A|SET n 5 NX|GETSET s A|GETDEL s|MSET s A n 7|DEL s|MGET s n|EXISTS s n|INCR s"
LISTS = "RPUSH l A|LPOP l|LRANGE l 0 -1|LMOVE l m LEFT RIGHT|RPOPLPUSH m l|LPUSH m A|LLEN m|LREM l 0 x|DEL l"
HASHES = "HSET h A 1|HGET h f|HINCRBY h f 1|HDEL h f|HGETALL h|HSETNX h f A|HLEN h"
ZSETS = "ZADD z 3 A|ZREM z x|ZRANGE z 0 -1|ZPOPMIN z|ZINCRBY z 5 x|ZSCORE z x|ZRANGESTORE y z 0 0|ZCARD y|ZREM y x"
SETS = "SADD t A|SREM t x|SMEMBERS t|SMOVE t u x|SINTERSTORE u t u|SCARD u|SUNIONSTORE t t u"
STREAMS = (
    "XADD x 3-1 f A|XADD x 4-1 f A|XADD x 5-1 f A|XADD x MAXLEN 1 6-1 f A|XREADGROUP GROUP g A COUNT 1 STREAMS x >|"
    "XREADGROUP GROUP g A STREAMS x 0|XREADGROUP GROUP g A STREAMS x >|XACK x g 1-1|XACK x g 2-1|XCLAIM x g A 0 1-1|"
    "XAUTOCLAIM x g A 0 0 COUNT 1|XAUTOCLAIM x g A 0 0|XDEL x 1-1|XRANGE x - +|XPENDING x g|XTRIM x MAXLEN 1|XLEN x"
)
BLOCKING = (
    "BLPOP l m 1|BRPOP k 2|BLMOVE l m LEFT LEFT 1|BZPOPMIN y z 1|XREADGROUP GROUP g A COUNT 1 BLOCK 900 STREAMS x >|"
    "BLPOP k 0|RPUSH k A|RPUSH k A|DEL m|LPUSH l A"
)
TIMED = (
    "SET s A PX 700|PEXPIRE l 1500|PEXPIRE h 500|SLEEP 0.5|SLEEP 1|SLEEP 0|EXISTS l|GET s|PERSIST h|SET s A NX PX 900"
)
BLOCKS = (
    "BOTH s: GET s: SET s A; INCR n|BOTH l: LRANGE l 0 -1: LPOP l; RPUSH m A|BOTH : : ZREM z x; RPUSH l A|"
    "BOTH z t: ZRANGE z 0 0: ZPOPMIN z; SADD t A|BOTH n: GET n: INCR n; HSET h A 2|BOTH h: HGET h f: GET s; INCR n|"
    "PIPE ZREM z x; RPUSH l A|PIPE GET s; SET s A; LLEN l|PIPE INCR n; HINCRBY h f 1"
)
SCRIPTS = {
    "move": "local due = redis.call('ZRANGE', KEYS[1], 0, 0) "
    "for _, id in ipairs(due) do redis.call('ZREM', KEYS[1], id) redis.call('RPUSH', KEYS[2], id) end return #due",
    "mine": "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    "hop": "local name = redis.call('LPOP', KEYS[1]) if name then return redis.call('INCR', 'n') end return -1",
    "take": "local got = redis.call('XREADGROUP', 'GROUP', 'g', ARGV[1], 'COUNT', 1, 'STREAMS', KEYS[1], '>') "
    "if got then return redis.call('XACK', KEYS[1], 'g', got[1][2][1][1]) end return -1",
    "look": "return redis.call('EXISTS', KEYS[1], KEYS[2])",
}
LUA = "LUA move z l|LUA move z m|LUA mine s|LUA hop l|LUA hop m|LUA take x|LUA look s n|LUA look l m"
OTHERS = "EFFECT|EFFECT|EFFECT|RAISE"
KINDS = [STRINGS, LISTS, HASHES, ZSETS, SETS, STREAMS, BLOCKING, TIMED, BLOCKS, LUA, OTHERS]
TIMELESS = [kind for kind in KINDS if kind is not TIMED]
SIZES = [[2, 2], [3, 2], [3, 3], [2, 2, 2], [4, 2], [4, 4]]
"""How many steps the workers have."""
FAULTS = [{}, {"crashes": 1}, {"lost_replies": 1}, {"crashes": 1, "lost_replies": 1}]


class RandomProgram:
    """A program: its workers as lines, and what may go wrong."""

    def __init__(self, seed, *, kinds=KINDS, sizes=SIZES):
        rng = random.Random(seed)
        kinds = rng.sample(kinds, min(3, len(kinds)))  # few, so that they meet
        self.lines = [[_line(rng, kinds) for _ in range(size)] for size in rng.choice(sizes)]
        self.workers = [worker(lines) for lines in self.lines]
        self.settings = rng.choice(FAULTS) | {"given": self.given}
        if TIMED in kinds and rng.random() < 0.5:
            self.settings["clock_jump"] = 1
        if "crashes" in self.settings and rng.random() < 0.5:
            self.lines.append([_line(rng, kinds)])
            self.settings["after_crash"] = worker(self.lines[-1])

    def given(self, redis):
        used = {word.strip(":;") for lines in self.lines for line in lines for word in line.split()}
        pipe = redis.pipeline(transaction=False)
        for key in sorted(used & GIVEN.keys()):
            for line in GIVEN[key].split("|"):
                pipe.execute_command(*line.split())
        pipe.execute()

    def __repr__(self):
        return f"{self.lines} {[name for name in self.settings if name != 'given']}"


def _line(rng, kinds):
    return ("IF " if rng.random() < 0.2 else "") + rng.choice(rng.choice(kinds).split("|"))


def worker(lines):
    def work(r, w):
        replies = []
        for line in lines:
            step = line.removeprefix("IF ")
            if step == line or (replies and replies[-1]):
                replies.append(_plain(_do(r, w, step.split(), replies)))
        return replies

    return work


def _do(r, w, words, replies):
    words = [w.name if word == "A" else word for word in words]
    kind, *rest = words
    if kind == "EFFECT":
        return w.effect(str(replies[-1:]))
    if kind == "SLEEP":
        return time.sleep(float(rest[0]))
    if kind == "RAISE":
        raise ValueError(str(replies))
    try:
        if kind == "LUA":
            return r.register_script(SCRIPTS[rest[0]])(keys=rest[1:], args=[w.name])
        if kind in {"BOTH", "PIPE"}:
            return _block(r, kind, " ".join(rest))
        return r.execute_command(*words)
    except (ResponseError, WatchError) as error:
        return type(error).__name__


def _block(r, kind, text):
    watched, look, body = text.split(":") if kind == "BOTH" else ("", "", text)
    with r.pipeline(transaction=kind == "BOTH") as pipe:
        if watched.strip():
            pipe.watch(*watched.split())
            if not pipe.execute_command(*look.split()):
                return None
            pipe.multi()
        for command in body.split(";"):
            pipe.execute_command(*command.split())
        return pipe.execute(raise_on_error=False)


def _plain(reply):
    """Return a reply in a form that compares."""
    if isinstance(reply, set):
        return sorted(map(str, reply))
    if isinstance(reply, dict):
        return sorted((str(key), _plain(value)) for key, value in reply.items())
    if isinstance(reply, list | tuple):
        return [_plain(part) for part in reply]
    return type(reply).__name__ if isinstance(reply, Exception) else reply


def outcome(world, *, times=True):
    """Return all that a schedule came to, as text; `times`: expiries and idle times, too."""
    redis = world.redis
    found = snapshot(redis)
    expiries = {key: redis.pttl(key) for key in found if times}
    pending = redis.xpending_range("x", "g", "-", "+", 99) if "x" in found else []
    for entry in pending:
        entry["time_since_delivered"] *= times
    return str((
        found, expiries, pending, world.effects, sorted(world.answers.items()),
        sorted((name, ended.kind, ended.text) for name, ended in world.errors.items()),
        sorted(world.crashed), sorted(world.losses), sorted(world.waiting),
    ))  # fmt: skip
