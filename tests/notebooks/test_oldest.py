"""The check of notebook 14: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["oldest"]

NOW = """seconds, micros = redis.time()
now = seconds * 1000 + micros // 1000"""
LISTED = "found = [due for _, due in redis.zrange(LIST, 0, 0, withscores=True)]"
IN_TRAY = """room = redis.lindex(TRAY, 0)
tray = [float(redis.hget(CARDS + room.decode(), "due"))] if room else []"""
AGE = """age = now - min(found + tray, default=now + 1)
return round(age) if age >= 0 else None"""
MULTI = """with redis.pipeline() as pipe:
    found, rooms, (seconds, micros) = pipe.zrange(LIST, 0, 0, withscores=True).lrange(TRAY, 0, 0).time().execute()
now = seconds * 1000 + micros // 1000
found = [due for _, due in found]
tray = [float(redis.hget(CARDS + room.decode(), "due")) for room in rooms]"""
NEVER_SEEN = "eve is always seen: FAIL  Eve is due for 90,000 ms all the time, you say None"


def steps(*parts):
    return "\n".join(parts)


ANSWERS = {
    "the list, the tray, the clock": (steps(LISTED, IN_TRAY, NOW, AGE), "Passed"),
    "one transaction": (steps(MULTI, AGE), "Passed"),
    "the stub": ("pass", "one on the list, due for 90 s: wanted 90000, got None"),
    "the clock of this machine": (
        steps(LISTED, IN_TRAY, "now = time.time() * 1000", AGE),
        "Not yet. one .*: wanted .*, got",
    ),
    "the tray, then the list": (steps(IN_TRAY, LISTED, NOW, AGE), NEVER_SEEN),
    "only the list": (steps(LISTED, NOW, "tray = []", AGE), "one in the tray, due for 2 min: wanted 120000, got None"),
    "only the tray": (steps(IN_TRAY, NOW, "found = []", AGE), "one on the list, due for 90 s: wanted 90000, got None"),
    "the tray only if nothing is on the list": (
        steps(LISTED, IN_TRAY, NOW, "tray = [] if found else tray", AGE),
        "one in the tray, due for 2 min: wanted 120000, got None",
    ),
    "what is not due yet": (
        steps(LISTED, IN_TRAY, NOW, "return round(now - min(found + tray)) if found + tray else None"),
        "one call, due in a minute: wanted None, got -60000",
    ),
    "a minute that is not over is 0": (
        steps(LISTED, IN_TRAY, NOW, "return max(0, round(now - min(found + tray, default=now)))"),
        "nothing waits: wanted None, got 0",
    ),
    "depth": ("return redis.zcard(LIST) + redis.llen(TRAY)", "nothing waits: wanted None, got 0"),
    "the newest": (
        steps(LISTED, IN_TRAY, NOW, AGE.replace("min", "max")),
        "one in the tray, due for 2 min: wanted 120000, got None",
    ),
    "in seconds": (
        steps(LISTED, IN_TRAY, NOW, AGE.replace("round(age)", "round(age / 1000)")),
        "one on the list, due for 90 s: wanted 90000, got 90",
    ),
    "a falsy 0": (
        steps(LISTED, IN_TRAY, NOW, AGE.replace("age >= 0", "age > 0")),
        "due at this very moment: wanted 0, got None",
    ),
    "puts it back into order": (
        steps("redis.zremrangebyrank(LIST, 0, 0)", LISTED, IN_TRAY, NOW, AGE),
        "one on the list, due for 90 s: wanted 90000",
    ),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_oldest_call(fake, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(fake, body))
