"""What a Redis command touches.

It is answered from a command's words alone, before it is sent: `(b"ZREM", b"delayed", b"j0")`.
Time is not among the keys: a step that moves the clock conflicts with every command.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jobkit.explore.spelling import Words, as_sent

Keys: TypeAlias = tuple[Sequence[bytes], Sequence[bytes]]
"""Those that are read and those that are written."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Which keys a command may read and which it may write: rather too many than too few.

    A written key counts as read, too. Databases are not told apart. Whether a command may wake one
    who waits for keys is asked like this: `footprint(command).conflicts(Footprint(reads=keys))`.
    """

    reads: frozenset[bytes] = frozenset()
    writes: frozenset[bytes] = frozenset()
    everything: bool = False
    """It may read and write any key; the two sets are empty then."""

    def __post_init__(self) -> None:
        if self.writes:
            object.__setattr__(self, "reads", self.reads | self.writes)

    def conflicts(self, other: Footprint) -> bool:
        """Whether the order of the two can matter: one writes what the other reads or writes."""
        if self.everything or other.everything:
            return NOTHING not in {self, other}
        return not (self.writes.isdisjoint(other.reads) and other.writes.isdisjoint(self.reads))

    def __or__(self, other: Footprint) -> Footprint:
        """What both touch together: a transaction is the sum of its commands and of what it watches."""
        if self is NOTHING or other is NOTHING:
            return other if self is NOTHING else self
        if self.everything or other.everything:
            return EVERYTHING
        return Footprint(self.reads | other.reads, self.writes | other.writes)


NOTHING = Footprint()
EVERYTHING = Footprint(everything=True)

NONE, NAME, FIRST, SECOND, BOTH = slice(0), slice(1), slice(1, 2), slice(2, 3), slice(1, 3)
ALL, ALL_BUT_LAST, EVERY_OTHER, REST = slice(1, None), slice(1, -1), slice(1, None, 2), slice(2, None)


def _at(*, reads: slice = NONE, writes: slice = NONE) -> Callable[[Sequence[bytes]], Keys]:
    """Keys at fixed places."""
    return lambda call: (call[reads], call[writes])


KEYLESS = _at()


def _counted(at: int, *, written: bool = False, into: slice = NONE) -> Callable[[Sequence[bytes]], Keys]:
    """Keys after their number, which stands at `at`."""

    def find(call: Sequence[bytes]) -> Keys:
        keys = call[at + 1 : at + 1 + int(call[at])]
        return ([], keys) if written else (keys, call[into])

    return find


def _stored(call: Sequence[bytes]) -> Keys:
    """SORT and GEORADIUS: one key, and those to store in. With BY or GET, SORT makes up further keys from the data."""
    options = [word.upper() for word in call]
    if call[0].startswith(b"SORT") and (b"BY" in options or b"GET" in options):
        raise LookupError
    return call[FIRST], [call[i + 1] for i, word in enumerate(options) if word in {b"STORE", b"STOREDIST"}]


def stream_options(call: Sequence[bytes]) -> dict[bytes, int]:
    """Say where the options of XREAD and XREADGROUP stand, the last of them STREAMS, and where the IDS begin."""
    found, at = {}, 1
    while b"STREAMS" not in found:
        option = call[at].upper()
        found[option] = at
        at += {b"COUNT": 2, b"BLOCK": 2, b"GROUP": 3, b"NOACK": 1, b"STREAMS": 1}[option]
    return {**found, b"IDS": (at + len(call)) // 2}


def _streams(call: Sequence[bytes]) -> Keys:
    """XREAD and XREADGROUP; the latter moves its group on."""
    options = stream_options(call)
    keys = call[options[b"STREAMS"] + 1 : options[b"IDS"]]
    return (keys, []) if call[0] == b"XREAD" else ([], keys)


# What is not in the table conflicts with everything: scripts (they may make up their keys), what touches every key or
# the server's settings (FLUSHALL, SCAN, SWAPDB, CONFIG), subscriptions, MULTI typed by hand, and what shows that a key
# was read (OBJECT IDLETIME). A channel counts as a key which PUBLISH writes: its subscribers see the order.
TABLE = {
    name.encode(): keys
    for keys, names in (
        (_at(reads=FIRST), "GET STRLEN GETRANGE SUBSTR GETBIT BITCOUNT BITPOS BITFIELD_RO"),
        (_at(reads=FIRST), "TYPE TTL PTTL EXPIRETIME PEXPIRETIME DUMP"),
        (_at(reads=FIRST), "HGET HMGET HGETALL HKEYS HVALS HLEN HEXISTS HSTRLEN HRANDFIELD HSCAN"),
        (_at(reads=FIRST), "HTTL HPTTL HEXPIRETIME HPEXPIRETIME LINDEX LLEN LPOS LRANGE"),
        (_at(reads=FIRST), "SCARD SISMEMBER SMISMEMBER SMEMBERS SRANDMEMBER SSCAN XLEN XPENDING XRANGE XREVRANGE"),
        (_at(reads=FIRST), "ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK"),
        (_at(reads=FIRST), "ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE"),
        (_at(reads=FIRST), "GEODIST GEOHASH GEOPOS GEOSEARCH GEORADIUS_RO GEORADIUSBYMEMBER_RO"),
        (_at(writes=FIRST), "SET SETEX PSETEX SETNX SETRANGE SETBIT BITFIELD GETSET GETDEL GETEX APPEND PFADD"),
        (_at(writes=FIRST), "INCR INCRBY INCRBYFLOAT DECR DECRBY PUBLISH SPUBLISH"),
        (_at(writes=FIRST), "EXPIRE EXPIREAT PEXPIRE PEXPIREAT PERSIST MOVE RESTORE"),
        (_at(writes=FIRST), "HSET HSETNX HMSET HDEL HINCRBY HINCRBYFLOAT HGETDEL HGETEX HSETEX"),
        (_at(writes=FIRST), "HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HPERSIST"),
        (_at(writes=FIRST), "LPUSH LPUSHX RPUSH RPUSHX LPOP RPOP LINSERT LREM LSET LTRIM SADD SREM SPOP"),
        (_at(writes=FIRST), "ZADD ZINCRBY ZREM ZPOPMIN ZPOPMAX ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE"),
        (_at(writes=FIRST), "GEOADD XADD XDEL XTRIM XSETID XACK XCLAIM XAUTOCLAIM XACKDEL XDELEX"),
        (_at(reads=SECOND), "OBJECT|ENCODING OBJECT|REFCOUNT MEMORY|USAGE XINFO|STREAM XINFO|GROUPS XINFO|CONSUMERS"),
        (_at(writes=SECOND), "XGROUP|CREATE XGROUP|SETID XGROUP|DESTROY XGROUP|CREATECONSUMER XGROUP|DELCONSUMER"),
        (_at(reads=BOTH), "LCS"),
        (_at(writes=BOTH), "RENAME RENAMENX RPOPLPUSH BRPOPLPUSH LMOVE BLMOVE SMOVE"),
        (_at(reads=FIRST, writes=SECOND), "COPY"),
        (_at(reads=SECOND, writes=FIRST), "ZRANGESTORE GEOSEARCHSTORE"),
        (_at(reads=REST, writes=FIRST), "SDIFFSTORE SINTERSTORE SUNIONSTORE PFMERGE"),
        (_at(reads=slice(3, None), writes=SECOND), "BITOP"),
        (_at(reads=ALL), "MGET EXISTS TOUCH WATCH SDIFF SINTER SUNION"),
        (_at(writes=ALL), "DEL UNLINK PFCOUNT"),  # PFCOUNT keeps the count that it finds
        (_at(writes=EVERY_OTHER), "MSET MSETNX"),
        (_at(writes=ALL_BUT_LAST), "BLPOP BRPOP BZPOPMIN BZPOPMAX"),
        (_counted(1), "SINTERCARD ZINTERCARD ZDIFF ZINTER ZUNION"),
        (_counted(2, into=FIRST), "ZDIFFSTORE ZINTERSTORE ZUNIONSTORE"),
        (_counted(1, written=True), "LMPOP ZMPOP"),
        (_counted(2, written=True), "BLMPOP BZMPOP"),
        (_streams, "XREAD XREADGROUP"),
        (_stored, "SORT SORT_RO GEORADIUS GEORADIUSBYMEMBER"),
        (_at(reads=NAME), "SCRIPT|LOAD"),  # matters to scripts, and to nobody else
        (KEYLESS, "PING ECHO TIME HELLO AUTH UNWATCH COMMAND"),
        (KEYLESS, "CLIENT|ID CLIENT|GETNAME CLIENT|SETNAME CLIENT|SETINFO CLIENT|NO-EVICT CLIENT|NO-TOUCH"),
    )
    for name in names.split()
}


def footprint(args: Words) -> Footprint:
    """Return what a command touches; EVERYTHING if its words do not tell. EXEC's is for the caller to sum up."""
    return _footprint(tuple(args))


@functools.lru_cache(maxsize=4096, typed=True)
def _footprint(args: Words) -> Footprint:
    call = as_sent(args)
    find = TABLE.get(call[0]) or TABLE.get(b"|".join(call[:2]).upper())
    try:
        reads, writes = find(call) if find else ([], [])
    except (LookupError, ValueError):
        return EVERYTHING
    if reads or writes:
        return Footprint(frozenset(reads), frozenset(writes))
    return NOTHING if find is KEYLESS else EVERYTHING
