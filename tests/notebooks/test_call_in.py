"""The check of notebook 03: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["call_in"]

LUA = """script = '''
local t = redis.call('TIME')
local now = {now}
local number = {number}
redis.call('ZADD', KEYS[1], now + ARGV[1], number .. ':' .. ARGV[2])
'''
redis.eval(script, 2, LINES, COUNT, {ms}, room)"""
NOW, NUMBER, MS = (
    "t[1] * 1000 + math.floor(t[2] / 1000)",
    "string.format('%012d', redis.call('INCR', KEYS[2]))",
    "round(seconds * 1000)",
)
STEPS = """number = {number}
seconds_now, micros = redis.time()
now = {now}
redis.zadd(LINES, {{f"{{number:012}}:{{room}}": now + {ms}}})"""
INCR, TIME = "redis.incr(COUNT)", "seconds_now * 1000 + micros // 1000"
PIPE = """now, number = redis.pipeline(transaction=True).time().incr(COUNT).execute()
ms = now[0] * 1000 + now[1] // 1000 + int(seconds * 1000)
redis.zadd(LINES, {f"{number:09}:{room}": ms})"""
GET_SET = """number = int(redis.get(COUNT) or 0) + 1
redis.set(COUNT, number)
"""


def lua(now=NOW, number=NUMBER, ms=MS):
    return LUA.format(now=now, number=number, ms=ms)


def steps(number=INCR, now=TIME, ms=MS):
    return STEPS.format(number=number, now=now, ms=ms)


def place(number, room):
    return rf"120 calls: place {number} is \['{room}'\], not room {number}\."


ANSWERS = {
    "one script": (lua(), "Passed"),
    "three commands": (steps(), "Passed"),
    "a pipeline, and then the line": (PIPE, "Passed"),
    "the stub": ("pass", "One call for room 412: the lines are of \\[\\]"),
    "by its own watch": (steps(now="redis.clock.now()"), "your watch, not the server's"),
    "by time.time()": ("import time\n" + steps(now="int(time.time() * 1000)"), "your watch, not the server's"),
    "in ns": (lua(now=f"({NOW}) * 1000000", ms="round(seconds * 10**9)"), "Which unit?"),
    "in seconds": (lua(now="t[1]", ms="round(seconds)"), "Which unit?"),
    "a delay of whole seconds": (lua(ms="int(seconds) * 1000"), "In 1.5 s: wanted 1500 ms from now, got 1,000"),
    "a moment for a delay": (lua(now="0"), "Which unit?"),
    "parts of a ms": (lua(ms="seconds * 1000"), "whole milliseconds, please"),
    "the room alone": (lua(number="''"), place(2, "room 10")),
    "no leading zeros": (lua(number="redis.call('INCR', KEYS[2])"), place(1, "room 100")),
    "two digits": (lua(number="string.format('%02d', redis.call('INCR', KEYS[2]))"), place(10, "room 100")),
    "microseconds as a number": (lua(number="string.format('%d%06d', t[1], t[2])"), place(2, "room 10")),
    "as many as wait": (
        lua(number="string.format('%012d', redis.call('ZCARD', KEYS[1]))"),
        r"Two of three were rung, then two called: \['room [56]', 'room",
    ),
    "read, then written": (
        GET_SET + steps(number="number"),
        "adas calls are in her order: FAIL  they come back as .* forced switch",
    ),
    "its own count": (
        "import itertools\nglobals().setdefault('count', itertools.count())\n"
        + steps(number="10**11 - next(count)"),
        place(1, "room 120"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_in_line_and_on_time(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))


def test_the_time_of_a_real_server_has_parts_of_a_ms(redis):
    """They must be cut off. (The fake's time is in whole ms.)"""
    said = TASK.verdict(redis, lua(now="t[1] * 1000 + t[2] / 1000"))
    assert ("whole milliseconds" in said) == (redis.server.kind == "private")
