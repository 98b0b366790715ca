"""The table of commands against what real servers say and do: every one that this machine has."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.real import Error, calls

from jobkit.explore.commands import EVERYTHING, NOTHING, TABLE, Footprint, footprint

SAMPLES = """
GET s; STRLEN s; GETRANGE s 0 1; SUBSTR s 0 1; GETBIT s 1; BITCOUNT s; BITPOS s 1; BITFIELD_RO s GET u8 0; DUMP l
TYPE l; TTL s; PTTL s; EXPIRETIME s; PEXPIRETIME s; HGET h f; HMGET h f g; HGETALL h; HKEYS h; HVALS h; HLEN h
HEXISTS h f; HSTRLEN h f; HRANDFIELD h; HSCAN h 0; HTTL h FIELDS 1 f; HPTTL h FIELDS 1 f; HEXPIRETIME h FIELDS 1 f
HPEXPIRETIME h FIELDS 1 f; LINDEX l 0; LLEN l; LPOS l 2; LRANGE l 0 -1; SCARD t; SISMEMBER t 1; SMISMEMBER t 1 7
SMEMBERS t; SRANDMEMBER t1; SSCAN t 0; XLEN x; XPENDING x grp; XRANGE x - +; XREVRANGE x + -; ZCARD z; ZCOUNT z 0 9
ZLEXCOUNT z - +; ZMSCORE z m; ZRANDMEMBER z1; ZRANGE z 0 -1; ZRANGE z -inf 1 BYSCORE LIMIT 0 1; ZRANGEBYLEX z - +
ZRANGEBYSCORE z 0 9; ZRANK z n; ZREVRANGE z 0 -1; ZREVRANGEBYLEX z + -; ZREVRANGEBYSCORE z 9 0; ZREVRANK z n; ZSCAN z 0
ZSCORE z m; GEODIST g P Q; GEOHASH g P; GEOPOS g P; GEOSEARCH g FROMMEMBER P BYRADIUS 200 km ASC
GEORADIUS_RO g 15 37 200 km ASC; GEORADIUSBYMEMBER_RO g P 200 km ASC; SET s 1; SET n 1 EX 9 GET; SETEX s 9 v
PSETEX n 99999 v; SETNX n v; SETRANGE s 1 v; SETBIT s 1 1; BITFIELD s SET u8 0 1; BITFIELD s GET u8 0; GETSET s v
GETDEL s; GETEX s EX 9; APPEND s v; PFADD p d; INCR s; INCRBY s 2; INCRBYFLOAT s 0.5; DECR s; DECRBY s 2; EXPIRE s 9
EXPIREAT s 9999999999; PEXPIRE s 99999; PEXPIREAT s 9999999999999; PERSIST s; MOVE s 1; RESTORE n 0 x; HSET h g 1
HSETNX h g 1; HMSET h g 1; HDEL h f; HINCRBY h f 1; HINCRBYFLOAT h f 1; HGETDEL h FIELDS 1 f; HGETEX h EX 9 FIELDS 1 f
HSETEX h EX 9 FIELDS 1 f v; HEXPIRE h 9 FIELDS 1 f; HPEXPIRE h 99999 FIELDS 1 f; HEXPIREAT h 9999999999 FIELDS 1 f
HPEXPIREAT h 9999999999999 FIELDS 1 f; HPERSIST h FIELDS 1 f; LPUSH l 0; LPUSHX l 0; RPUSH l 0; RPUSHX l 0; LPOP l
RPOP l 2; LINSERT l BEFORE 2 x; LREM l 0 2; LSET l 0 x; LTRIM l 1 1; SADD t 9; SREM t 1; SPOP t1; ZADD z 3 o
ZINCRBY z 1 m; ZREM z m; ZPOPMIN z; ZPOPMAX z; ZREMRANGEBYLEX z - +; ZREMRANGEBYRANK z 0 0; ZREMRANGEBYSCORE z 0 1
GEOADD g 14 38 R; XADD x 2-1 f v; XDEL x 1-2; XTRIM x MAXLEN 1; XSETID x 9-9; XACK x grp 1-1; XCLAIM x grp d 0 1-1
XAUTOCLAIM x grp d 0 0; XACKDEL x grp IDS 1 1-1; XDELEX x IDS 1 1-1; OBJECT ENCODING l; OBJECT REFCOUNT l
MEMORY USAGE l; XINFO STREAM x; XINFO GROUPS x; XINFO CONSUMERS x grp; XGROUP CREATE x new 0; XGROUP SETID x grp 0
XGROUP CREATE n new 0 MKSTREAM; XGROUP DESTROY x grp; XGROUP CREATECONSUMER x grp d; XGROUP DELCONSUMER x grp c
LCS s s2; RENAME s s2; RENAME s n; RENAMENX s n; RPOPLPUSH l l2; BRPOPLPUSH l n 1; LMOVE l n LEFT LEFT
BLMOVE l l2 LEFT LEFT 1; SMOVE t t1 1; COPY s n; COPY s s2 REPLACE; COPY s s2 DB 1; ZRANGESTORE n z 0 0
GEOSEARCHSTORE n g FROMMEMBER P BYRADIUS 9 km; SDIFFSTORE n t t1; SINTERSTORE t1 t t1; SUNIONSTORE n t t1
PFMERGE p p2; PFMERGE n p p2; BITOP AND n s s2; BITOP NOT s s2; MGET s s2; EXISTS s n; TOUCH s l; WATCH s l; SDIFF t t1
SINTER t t1; SUNION t t1; DEL s l n; UNLINK s l; PFCOUNT p; PFCOUNT p p2; MSET s 1 n 2; MSETNX n 1 n2 2; BLPOP n l 1
BRPOP l l2 1; BZPOPMIN n z 1; BZPOPMAX z z1 1; SINTERCARD 2 t t1 LIMIT 1; ZINTERCARD 2 z z1; ZDIFF 2 z z1; ZINTER 2 z z1
ZUNION 2 z z1 WITHSCORES; ZDIFFSTORE n 2 z z1; ZINTERSTORE z 1 z1; ZUNIONSTORE n 2 z z1 WEIGHTS 1 2
LMPOP 2 n l LEFT COUNT 2; ZMPOP 1 z MIN; BLMPOP 1 2 l l2 LEFT; BZMPOP 1 2 n z MAX; XREAD STREAMS x 0
XREAD COUNT 1 BLOCK 1 STREAMS x x2 0 0; XREADGROUP GROUP grp c STREAMS x >; SORT l; SORT l DESC LIMIT 0 2 STORE n
XREADGROUP GROUP streams c NOACK COUNT 1 STREAMS x x2 > >; XREADGROUP COUNT 1 GROUP grp c BLOCK 1 STREAMS x >
SORT_RO l DESC; GEORADIUS g 15 37 200 km ASC; GEORADIUS g 15 37 200 km STORE n; GEORADIUSBYMEMBER g P 200 km ASC
GEORADIUSBYMEMBER g P 200 km STOREDIST n; GEORADIUSBYMEMBER g store 200 km STORE n
"""

OTHERS = """
PUBLISH ch m; SPUBLISH ch m; SCRIPT LOAD x; PING; ECHO x; TIME; HELLO; AUTH x; UNWATCH; COMMAND COUNT; CLIENT ID
CLIENT GETNAME; CLIENT SETNAME x; CLIENT SETINFO LIB-NAME x; CLIENT NO-EVICT on; CLIENT NO-TOUCH on
"""
NEWER = b"""
HTTL HPTTL HEXPIRETIME HPEXPIRETIME HEXPIRE HPEXPIRE HEXPIREAT HPEXPIREAT HPERSIST HGETDEL HGETEX HSETEX XACKDEL XDELEX
"""
"""What Redis 7.0 has not got."""

CALLS = calls(SAMPLES)


def test_each_command_of_the_table_has_a_sample():
    sampled = CALLS + calls(OTHERS)
    assert set(TABLE) == {call[0] if call[0] in TABLE else b"|".join(call[:2]) for call in sampled}


def test_the_table_knows_no_command_that_servers_do_not(real):
    if real.new:
        known = {sub[0].upper() for row in real.rows.values() for sub in row[9]} | set(real.rows)
        assert set(TABLE) - known <= {*NEWER.split(), b"CLIENT|SETINFO", b"CLIENT|NO-TOUCH"}


def test_the_server_finds_the_same_keys(real):
    for call in real.known(CALLS):
        seen = footprint(call)
        if real.new:
            told = dict(real("COMMAND", "GETKEYSANDFLAGS", *call))
            written = {key for key, flags in told.items() if {b"RW", b"OW", b"RM"} & set(flags)}
        else:
            told, written = real("COMMAND", "GETKEYS", *call), set()
        assert seen.reads - {b"200"} == set(told), call  # of the member "store" in the last sample
        assert seen.writes >= written, call


def test_a_command_that_writes_nothing_says_so(real):
    for call in real.known(CALLS):
        if b"readonly" in real.rows[call[0]][2] and call[0] != b"PFCOUNT":
            assert not footprint(call).writes, call


def test_what_a_command_changes_is_what_it_writes(real):
    for call in real.known(CALLS):
        real.seed()
        before = real.state()
        real(*call)
        after = real.state()
        changed = {entry[0] for entry in before + after if entry not in before or entry not in after}
        assert changed <= footprint(call).writes, call


def test_what_a_command_answers_depends_on_what_it_reads(real):
    for call in real.known(CALLS):
        if call[:2] != (b"XINFO", b"CONSUMERS"):  # tells how long they were idle
            real.seed()
            reply = real(*call)
            real.seed(keep=footprint(call).reads)
            assert reply == real(*call), call


def test_every_sample_does_something(real):
    for call in real.known(CALLS):
        real.seed()
        assert not isinstance(real(*call), Error) or call[0] == b"RESTORE", call


@given(a=st.sampled_from(CALLS), b=st.sampled_from(CALLS))
def test_the_order_of_two_without_a_conflict_does_not_matter(real, a, b):
    if len(real.known([a, b])) < 2 or footprint(a).conflicts(footprint(b)) or b"CONSUMERS" in {a[1], b[1]}:
        return
    real.seed()
    replies, state = real.run([a, b]), real.state()
    real.seed()
    assert real.run([b, a]) == replies[::-1]
    assert real.state() == state


def test_no_command_of_the_server_is_taken_for_harmless(real):
    data = {b"write", b"readonly", b"movablekeys", b"admin", b"noscript"}
    for name, row in real.rows.items():
        subs = [tuple(sub[0].upper().split(b"|")) for sub in row[9]] if real.new else []
        for call in [(name,), *subs]:
            for extra in range(6):
                seen = footprint((*call, *[b"1"] * extra))
                if row[3] or (data & set(row[2]) and name not in {b"HELLO", b"AUTH", b"UNWATCH"}):
                    assert seen != NOTHING, call


UNTOLD = """
FLUSHALL; KEYS *; SCAN 0; DBSIZE; RANDOMKEY; SWAPDB 0 1; SELECT 1; MULTI; EXEC; DISCARD; EVAL x 0; EVAL x 1 k
EVALSHA x 1 k; EVAL_RO x 1 k; FCALL f 1 k; SCRIPT FLUSH; CONFIG SET a b; SUBSCRIBE c; CLIENT PAUSE 1; CLIENT
OBJECT IDLETIME k; SORT k BY w_*; sort k get # store d; SORT k STORE; GET; DEL; WATCH; BLPOP k; ZUNION x k; ZUNION
LMPOP 0 LEFT; XREAD; XREAD STREAMS; XREAD OK 1; NEVERHEARD k; XINFO HELP
"""


@pytest.mark.parametrize("call", calls(UNTOLD), ids=lambda call: b" ".join(call).decode())
def test_what_cannot_be_told_is_everything(call):
    assert footprint(call) is EVERYTHING


def test_words_come_in_any_form():
    assert footprint(("zadd", "k", 1, b"m")) == footprint((b"ZADD", b"k", b"1.5", b"m")) == Footprint(writes={b"k"})
    assert footprint(("ZUNIONSTORE", "é", 1, 7)) == Footprint(reads=frozenset({b"7"}), writes=frozenset({"é".encode()}))
    assert footprint(("XINFO STREAM", "k")) == footprint(("xinfo", "stream", "k")) == Footprint(reads=frozenset({b"k"}))
    assert footprint(("SCRIPT LOAD", "x")).conflicts(EVERYTHING)
    assert not footprint(("SCRIPT LOAD", "x")).conflicts(footprint(("SCRIPT", "LOAD", "y")))


keys = st.frozensets(st.sampled_from([b"a", b"b", b"c"]))
footprints = st.builds(Footprint, keys, keys) | st.sampled_from([NOTHING, EVERYTHING])


@given(footprints, footprints, footprints)
def test_conflicts(a, b, c):
    assert a.writes <= a.reads
    assert a.conflicts(b) == b.conflicts(a)
    assert (a | b).conflicts(c) == (a.conflicts(c) or b.conflicts(c))
    assert (a | b, a | a, a | NOTHING) == (b | a, a, a)
    assert not NOTHING.conflicts(a)
    assert EVERYTHING.conflicts(a) == (a != NOTHING)
    if not (a.everything or b.everything):
        assert a.conflicts(b) == bool(a.writes & b.reads or b.writes & a.reads)
