"""A blocking command that is tried without waiting says what it says on real servers."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from support.real import Error, calls

from jobkit.errors import ConfigError
from jobkit.explore.blocking import unblocked

FINDS = """
BLPOP l 1; BLPOP n l l2 0; BRPOP n l 0.5; BLMOVE l l2 LEFT RIGHT 1; BLMOVE l l RIGHT LEFT 0; BRPOPLPUSH l n 1
BZPOPMIN n z 1; BZPOPMAX z z1 0; BLMPOP 1 2 n l LEFT COUNT 2; BZMPOP 0 1 z MIN; XREAD BLOCK 5 STREAMS x 0
XREAD COUNT 1 BLOCK 0 STREAMS n x x2 0 1-1 0; XREADGROUP GROUP grp c BLOCK 5 STREAMS x >
xreadgroup group grp c count 1 block 0 noack streams x >; XREADGROUP GROUP grp c BLOCK 0 STREAMS x 0
XREADGROUP GROUP grp d BLOCK 5 STREAMS x 0
"""
FINDS_NOTHING = """
BLPOP n 0.01; BRPOP n n2 0.01; BLMOVE n l LEFT RIGHT 0.01; BRPOPLPUSH n l 0.01; BZPOPMIN n 0.01; BZPOPMAX n n2 0.01
BLMPOP 0.01 2 n n2 LEFT; BZMPOP 0.01 1 n MIN; XREAD BLOCK 1 STREAMS x n 1-2 0; XREAD BLOCK 1 STREAMS x $
XREADGROUP GROUP done c BLOCK 1 STREAMS x2 >
"""
FAILS = """
BLPOP n s l 1; BRPOP s 1; BLMOVE l s LEFT LEFT 1; BLMOVE s l LEFT LEFT 1; BRPOPLPUSH s l 1; BZPOPMIN l 1; BZPOPMAX l 1
BLMPOP 1 1 s LEFT; BZMPOP 1 1 s MIN; XREAD BLOCK 1 STREAMS s 0; XREAD BLOCK 1 STREAMS s $; XREAD BLOCK 1 STREAMS x no
XREADGROUP GROUP nobody c BLOCK 1 STREAMS x >; XREADGROUP GROUP grp c BLOCK 1 STREAMS x $; BLPOP l -1; BLPOP l x
BLPOP l nan; BLPOP l inf; BLPOP l 1e30; BLPOP 1; BLPOP; BLMOVE l l2 LEFT -1; BLMPOP -1 1 l LEFT; BLMPOP 1 x l LEFT
BLMPOP 1 0 LEFT; BZMPOP 1 1; XREAD BLOCK -1 STREAMS x 0; XREAD BLOCK x STREAMS x 0; XREAD BLOCK; XREAD BLOCK 1
XREAD BLOCK 1 STREAMS x 0 0; XREAD BLOCK 1 STREAMS x x2 0; XREAD BLOCK 1 STREAMS
"""


def spelled(call):
    return b" ".join(call).decode()


def tried(real, call):
    """Try a command as the explorer does; (what it found, the number of attempts that it took)."""
    wait = unblocked(call, lambda ask: real(*ask))
    if wait is None:
        return real(*call)
    found = None
    for number, attempt in enumerate(wait.attempts):
        found = wait.shape(number, real(*attempt))
        if found is not None:
            break
    return found


@pytest.mark.parametrize("call", calls(FINDS + FINDS_NOTHING + FAILS), ids=spelled)
def test_it_says_and_does_the_same(real, call):
    if not real.known([call]):
        pytest.skip("not on this server")
    real.seed()
    answer, state = real(*call), real.state()
    real.seed()
    assert tried(real, call) == answer or both_refused(tried(real, call), answer)
    assert real.state() == state
    assert (answer is None) == (call in calls(FINDS_NOTHING))
    assert isinstance(answer, Error) == (call in calls(FAILS))


def both_refused(*answers):
    """Whether the two are errors of one code; a command's name in the text may differ."""
    codes = [str(answer).split()[0] if isinstance(answer, Error) else answer for answer in answers]
    return (
        all(isinstance(answer, Error) for answer in answers) and len({c if c.isupper() else "ERR" for c in codes}) == 1
    )


@pytest.mark.parametrize("stream", ["x", "emptied", "n"])
def test_from_now_on_is_from_when_the_wait_begins(real, eventually, stream):
    """`$` of a stream whose newest entry is gone, and of one that is not there yet, too."""
    call = ("XREAD", "BLOCK", 0, "STREAMS", "x2", stream, "1-1", "$")
    prepare = calls("XADD x 1-9 f v; XDEL x 1-9; XADD emptied 1-9 f v; XDEL emptied 1-9")
    more = calls(f"XADD {stream} 2-1 f v")
    real.seed()
    real.run(prepare)
    with ThreadPoolExecutor(1) as pool, real.server.client() as other:
        waiting = pool.submit(real, *call)
        eventually(lambda: other.info("clients")["blocked_clients"] == 1)
        other.xadd(stream, {"f": "v"}, id="2-1")
        answer = waiting.result(timeout=5)
    assert answer == [[stream.encode(), [[b"2-1", [b"f", b"v"]]]]]

    real.seed()
    real.run(prepare)
    wait = unblocked(call, lambda ask: real(*ask))
    assert wait.shape(0, real(*wait.attempts[0])) is None
    real.run(more)
    assert wait.shape(0, real(*wait.attempts[0])) == answer
    assert b"$" not in wait.attempts[0]
    assert wait.keys == {b"x2", stream.encode()}


def test_from_now_on_needs_somebody_to_ask():
    with pytest.raises(ConfigError, match="name an id"):
        unblocked(("XREAD", "BLOCK", 0, "STREAMS", "x", "$"))
    assert unblocked(("XREAD", "BLOCK", 0, "STREAMS", "$", "0")).attempts == ((b"XREAD", b"STREAMS", b"$", b"0"),)


@pytest.mark.parametrize(
    ("call", "ms", "keys", "attempts"),
    [
        ("BLPOP a b 0", None, "a b", "LPOP a; LPOP b"),
        ("blpop a 0.07", 70, "a", "LPOP a"),
        ("BRPOP a 0.0001", 1, "a", "RPOP a"),
        ("BZPOPMIN a b 1e2", 100_000, "a b", "ZPOPMIN a; ZPOPMIN b"),
        ("BRPOPLPUSH a b 4.35", 4350, "a", "RPOPLPUSH a b"),
        ("BLMOVE a b LEFT RIGHT 1", 1000, "a", "LMOVE a b LEFT RIGHT"),
        ("BLMPOP 2 2 a b LEFT COUNT 3", 2000, "a b", "LMPOP 2 a b LEFT COUNT 3"),
        ("BZMPOP 0.5 1 a MAX", 500, "a", "ZMPOP 1 a MAX"),
        ("XREAD COUNT 1 BLOCK 30 STREAMS a b 0 0", 30, "a b", "XREAD COUNT 1 STREAMS a b 0 0"),
        ("XREADGROUP GROUP g c BLOCK 0 NOACK STREAMS a >", None, "a", "XREADGROUP GROUP g c NOACK STREAMS a >"),
    ],
)
def test_how_it_is_tried(call, ms, keys, attempts):
    wait = unblocked(call.split())
    assert (wait.timeout_ms, wait.keys) == (ms, set(keys.encode().split()))
    assert list(wait.attempts) == calls(attempts)


@pytest.mark.parametrize(
    "call", calls("LPOP a; XREAD STREAMS a 0; XREAD; XREADGROUP GROUP BLOCK c STREAMS a >; GET a; PING")
)
def test_what_does_not_wait(call):
    assert unblocked(call) is None


def test_every_command_that_may_block_is_known(real):
    if not real.new:
        pytest.skip("this server does not tell which commands may block")
    waits = {name for name, row in real.rows.items() if b"blocking" in row[2]}
    assert waits - {b"WAIT", b"WAITAOF"} == {call[0].upper() for call in calls(FINDS)}  # those wait for replicas
