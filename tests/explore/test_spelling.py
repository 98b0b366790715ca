"""How commands and replies look in a timeline."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import NoScriptError, ResponseError

from jobkit.explore.spelling import LONG, LONGEST, MANY, answer, words

SHA = hashlib.sha1(b"return 1").hexdigest()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((b"ZREM", b"delayed", b"j0"), "ZREM delayed j0"),
        (("zadd", "delayed", 5.5, b"j0"), "ZADD delayed 5.5 j0"),
        (("XINFO STREAM", "x"), "XINFO STREAM x"),
        (
            (b"ZRANGE", b"delayed", b"-inf", b"17", b"BYSCORE", b"LIMIT", b"0", b"10"),
            "ZRANGE delayed -inf 17 BYSCORE LIMIT 0 10",
        ),
        ((b"SET", b"k", b"x" * 99), "SET k " + "x" * 23 + "…"),
        ((b"SET", b"k", b"x" * 24), "SET k " + "x" * 24),
        ((b"SET", b"k", "é€🙂".encode()), "SET k é€🙂"),
        ((b"SET", b"k", "🙂".encode() * 99), "SET k " + "🙂" * 23 + "…"),
        ((b"SET", b"k", b"\x00\xff\n"), r"SET k \x00\xff\n"),
        ((b"SET", b"k", "\u202e\u00a0".encode()), r"SET k \u202e\xa0"),
        ((b"SET", b"", b"two words"), 'SET "" "two words"'),
        ((b"SET", b"k", b'{"to": 1}'), """SET k '{"to": 1}'"""),
        ((b"RPUSH", b"l", *[b"1"] * 99), "RPUSH l " + "1 " * 14 + "… 85 more"),
        ((b"EVALSHA", SHA.encode(), b"1", b"k"), "EVALSHA promote"),
        ((b"EVALSHA", SHA.upper().encode(), b"0"), "EVALSHA promote"),
        ((b"EVALSHA", b"3f2a" + b"0" * 36, b"0"), "EVALSHA script 3f2a 0"),
        ((b"EVALSHA_RO", b"\xff", b"0"), "EVALSHA_RO script \ufffd 0"),
        ((b"EVAL", b"return 1", b"0"), "EVAL promote"),
        ((b"EVAL", b"return 2", b"0"), "EVAL script 7f92 0"),
        (("SCRIPT LOAD", "return 1"), "SCRIPT LOAD promote"),
        ((b"SCRIPT", b"EXISTS", SHA.encode()), f"SCRIPT EXISTS {SHA[:23]}…"),
        ((b"EVAL",), "EVAL"),
    ],
)
def test_a_command(args, said):
    assert words(args, {SHA: "promote"}) == said


def test_a_script_without_a_name_has_the_beginning_of_its_sha1():
    assert words(("EVALSHA", SHA, 0)) == f"EVALSHA script {SHA[:4]} 0"


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (1, "1"),
        (None, "nil"),
        (b"OK", "OK"),
        (b"text", '"text"'),
        (b"", '""'),
        (b"1", '"1"'),
        ([], "[]"),
        ([b"j0"], "[j0]"),
        ([b"j0", 2, None, [b"", b"a b"]], '[j0, 2, nil, ["", "a b"]]'),
        ([[b"x", [[b"1-1", [b"f", b"v"]]]]], "[[x, [[1-1, [f, v]]]]]"),
        ((b"a", b"b"), "[a, b]"),
        (b"x" * 99, '"' + "x" * 37 + '…"'),
        ([b"x" * 99], "[" + "x" * 23 + "…]"),
        ([b"j"] * 99, "[" + "j, " * 12 + "j,…"),
        (b"\r\n", r'"\r\n"'),
        (True, "True"),
        (1.5, "1.5"),
        (ResponseError("WRONGTYPE Operation against a key"), "WRONGTYPE Operation against a key"),
        (ResponseError("WRONGTYPE " + "x" * 99), "WRONGTYPE " + "x" * 29 + "…"),
        (ResponseError("no such key"), "ERR no such key"),
        ([b"a", ResponseError("no such key")], "[a, ERR no such key]"),
    ],
)
def test_a_reply(reply, said):
    assert answer(reply) == said


def test_an_error_whose_code_redis_py_takes_off():
    """redis-py 8 keeps the code beside the text."""
    assert answer(NoScriptError("No matching script.")) == "ERR No matching script."
    error = NoScriptError("No matching script.")
    error.status_code = "NOSCRIPT"
    assert answer(error) == "NOSCRIPT No matching script."


texts = st.binary(max_size=150) | st.text(max_size=150).map(lambda text: text.encode(errors="surrogatepass"))
replies = st.recursive(texts | st.integers() | st.none(), lambda parts: st.lists(parts, max_size=5))


@given(st.lists(texts, max_size=30), replies)
def test_it_is_short_and_prints(args, reply):
    said = words((b"GET", *args))
    assert said.isprintable()
    assert len(said) <= MANY * (LONG + 3) + 20
    assert answer(reply).isprintable()
    assert len(answer(reply)) <= LONGEST
