"""The check of notebook 12: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["done"]

LUA = """said = redis.eval('''
{first}
{off}
local next = redis.call('LINDEX', KEYS[1], 0)
if next then redis.call('RPUSH', KEYS[2], next) end
return next
''', 2, LINE + guest, TRAY, wish)
return said"""
FIRST = "if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[1] then return false end"
OFF = "redis.call('LPOP', KEYS[1])"

STEPS = """line = LINE + guest
if redis.lindex(line, 0) != wish.encode():
    return None
{steps}
return following"""
POP, LOOK = "redis.lpop(line)", "following = redis.lindex(line, 0)"
PUSH = "if following: redis.rpush(TRAY, following)"

WATCH = """from redis.exceptions import WatchError
line = LINE + guest
with redis.pipeline() as pipe:
    while True:
        try:
            pipe.watch({key})
            first, *others = pipe.lrange(line, 0, 1) or [None]
            if first != wish.encode():
                return None
            pipe.multi()
            pipe.lpop(line)
            if others:
                pipe.rpush(TRAY, others[0])
            pipe.execute()
            return others[0] if others else None
        except WatchError:
            continue"""

ONCE = r"the first is in the tray once: FAIL  the line: \['fetch'\], in the tray: \["
WHOLE = "whole or not at all: FAIL"
ANSWERS = {
    "one script": (LUA.format(first=FIRST, off=OFF), "Passed"),
    "watch": (WATCH.format(key="line"), "Passed"),
    "the stub": ("pass", "wanted breakfast, .* got None"),
    "the page's own DONE": (LUA.format(first="", off=OFF), "wanted None, .*breakfast.*; got move"),
    "takes off any place": (
        LUA.format(first="", off="redis.call('LREM', KEYS[1], 0, ARGV[1])"),
        r"\['breakfast', 'move'\]: wanted None, \['breakfast', 'move'\]; got breakfast",
    ),
    "one guest for all": (LUA.format(first=FIRST, off=OFF).replace("+ guest", "+ 'Ode'"), "Mr Pi's call: got None"),
    "wakes nobody": (LUA.format(first=FIRST, off=OFF).replace("KEYS[2], next", "'else', next"), "then the tray holds"),
    "from the wrong end": (LUA.format(first=FIRST, off="redis.call('RPOP', KEYS[1])"), "wanted breakfast, .* got move"),
    "ends the whole line": (LUA.format(first=FIRST, off="redis.call('DEL', KEYS[1])"), "wanted breakfast, .* got None"),
    "says nothing": (LUA.format(first=FIRST, off=OFF).replace("return said", ""), "got None, ..breakfast"),
    "command by command": (STEPS.format(steps=f"{POP}\n{LOOK}\n{PUSH}"), ONCE),
    "looks ahead": (
        STEPS.format(steps=f"following = redis.lindex(line, 1)\n{POP}\n{PUSH}"),
        "the first is in the tray once: FAIL|whole or not at all: FAIL",
    ),
    "the tray first": (STEPS.format(steps=f"following = redis.lindex(line, 1)\n{PUSH}\n{POP}"), "FAIL"),
    "a watch on another key": (WATCH.format(key="'another key'"), "the first is in the tray once: FAIL"),
    "the tray in a second step": (
        LUA.format(first=FIRST, off=OFF).replace("if next then redis.call('RPUSH', KEYS[2], next) end", "")
        .replace("return said", "if said: redis.rpush(TRAY, said)\nreturn said"),
        WHOLE,
    ),
    "compares in a step of its own": (
        f"if redis.lindex(LINE + guest, 0) != wish.encode(): return None\n{LUA.format(first='', off=OFF)}",
        "asked twice goes on once: FAIL",
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_done_once(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))
