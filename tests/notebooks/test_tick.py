"""The check of notebook 04: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["tick"]
HEAD = "local t = redis.call('TIME')\nlocal now = t[1] * 1000 + math.floor(t[2] / 1000)\n"
LUA = HEAD + (
    "local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])\n"
    "for _, room in ipairs(due) do\n"
    "  redis.call('ZREM', KEYS[1], room)\n"
    "  redis.call('RPUSH', ARGV[3] .. (redis.call('HGET', ARGV[2] .. room, 'tray') or '0'), room)\n"
    "end\n"
    "local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')\n"
    "return {#due, first[2] and math.max(0, math.min(2000, first[2] - now)) or 2000}"
)
CALL = "redis.eval({script!r}, 1, DELAYED, limit, CARD, TRAY)"
NOW = "seconds, micros = redis.time()\nnow = seconds * 1000 + micros // 1000"
READ = "due = redis.zrange(DELAYED, '-inf', now, byscore=True, offset=0, num=limit)"
NUMBER = "number = (redis.hget(CARD + room.decode(), 'tray') or b'0').decode()"
OFF, ON = "redis.zrem(DELAYED, room)", "redis.rpush(TRAY + number, room)"
SLEEP = (
    "first = redis.zrange(DELAYED, 0, 0, withscores=True)\n"
    "wait = max(0, min(2000, int(first[0][1]) - now)) if first else 2000"
)
WATCH = f"""from redis.exceptions import WatchError
while True:
    with redis.pipeline() as pipe:
        try:
            pipe.watch(DELAYED)
            seconds, micros = redis.time()
            now = seconds * 1000 + micros // 1000
            {READ.replace("redis.", "pipe.")}
            numbers = [(pipe.hget(CARD + room.decode(), 'tray') or b'0').decode() for room in due]
            left = pipe.zrange(DELAYED, len(due), len(due), withscores=True)
            pipe.multi()
            for room, number in zip(due, numbers):
                pipe.zrem(DELAYED, room).rpush(TRAY + number, room)
            pipe.execute()
        except WatchError:
            continue
    return len(due), max(0, min(2000, int(left[0][1]) - now)) if left else 2000"""


def script(old="", new=""):
    return "return " + CALL.format(script=LUA.replace(old, new) if old else LUA)


def loop(*steps, now=NOW, read=READ, answer="len(due)"):
    """A loop in Python, one command after the other."""
    lines = "\n".join(f"    {step}" for step in steps)
    return f"{now}\n{read}\nmoved = 0\nfor room in due:\n{lines}\n{SLEEP}\nreturn {answer}, wait"


ASKED = (NUMBER, f"if {OFF}:", f"    {ON}; moved += 1")
PIPED = (NUMBER, "redis.pipeline(transaction={both}).zrem(DELAYED, room).rpush(TRAY + number, room).execute()")
ONE_PLACE = "each call is in one place: FAIL  room . stands in {} places"
ANSWERS = {
    "one script": (script(), "Passed"),
    "watch": (WATCH, "Passed"),
    "the stub": ("pass", r"four are due: wanted \[\(4, 700\)\], got \[None\]"),
    "forgets the sleep": (script("return {#due, ", "return #due --"), r"got \[4\]"),
    "document B": (loop(PIPED[0], PIPED[1].format(both=False)), ONE_PLACE.format(2)),
    "a transaction": (loop(PIPED[0], PIPED[1].format(both=True)), ONE_PLACE.format(2)),
    "reads the answer": (loop(*ASKED, answer="moved"), ONE_PLACE.format(0)),
    "on, then off": (loop(NUMBER, ON, OFF), ONE_PLACE.format(2)),
    "its own clock": (loop(*ASKED, now="now = redis.clock.now()"), r"four are due: wanted .*, got \[\(5, 2000\)\]"),
    "no limit": (script("'LIMIT', 0, ARGV[1]", "'LIMIT', 0, -1"), r"a limit of 3: wanted .*, got \[\(4, 700\)"),
    "before, not at": (script("'-inf', now", "'-inf', '(' .. now"), r"four are due: .*, got \[\(3, 0\)\]"),
    "at the front": (script("RPUSH", "LPUSH"), "four are due: wanted the trays"),
    "one tray": (script("(redis.call('HGET', ARGV[2] .. room, 'tray') or '0')", "'0'"), "wanted the trays"),
    "no card, no call": (script("or '0'", "or '9'"), "four are due: wanted the trays"),
    "sleeps an hour": (script("math.min(2000, first[2] - now)", "first[2] - now"), "only one in an hour: wanted"),
    "always two seconds": (script("first[2] and", "false and"), r"got \[\(4, 2000\)\]"),
    "sleeps though late": (script("math.max(0, ", "math.max(1, "), r"a limit of 3: wanted \[\(3, 0\)"),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_clerks_look(fake, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(fake, body))
