"""The check of notebook 13: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["strike"]

LUA = """said = redis.eval('''
{fence}
local last, hour = tonumber(redis.call('GET', KEYS[1])), tonumber(ARGV[1])
{nothing}
local first = {first}
for slot = first, hour do redis.call('RPUSH', KEYS[3], slot) end
redis.call('SET', KEYS[1], hour)
return first - last - 1
''', 3, STRUCK, LEADERS, BELL, hour, number)
return said.decode() if isinstance(said, bytes) else said"""
FENCE = "if redis.call('GET', KEYS[2]) ~= ARGV[2] then return 'fenced' end"
NOTHING = "if hour <= last then return 0 end"
FIRST = "math.max(last + 1, hour - 2)"
RIGHT = {"fence": FENCE, "nothing": NOTHING, "first": FIRST}

WATCH = """from redis.exceptions import WatchError
with redis.pipeline() as pipe:
    while True:
        try:
            {watch}
            if int(pipe.get(LEADERS)) != number:
                return "fenced"
            last = int(pipe.get(STRUCK))
            if hour <= last:
                return 0
            first = max(last + 1, hour - 2)
            pipe.multi()
            pipe.rpush(BELL, *range(first, hour + 1)).set(STRUCK, hour).execute()
            return first - last - 1
        except WatchError:
            continue"""

STEPS = """if int(redis.get(LEADERS)) != number:
    return "fenced"
last = int(redis.get(STRUCK))
if hour <= last:
    return 0
first = max(last + 1, hour - 2)
{write}
return first - last - 1"""
PUSH, SET = "redis.rpush(BELL, *range(first, hour + 1))", "redis.set(STRUCK, hour)"

MARK = """if int(redis.get(LEADERS)) != number:
    return "fenced"
last = int(redis.get(STRUCK))
dropped = max(0, hour - last - 3)
for slot in range(last + 1 + dropped, hour + 1):
    if redis.set(f"{STRUCK}:{slot}:{hour}:{last}", 1, nx=True, ex=3600):
        redis.rpush(BELL, slot)
if hour > last:
    redis.set(STRUCK, hour)
return dropped"""

TWICE = "no hour twice: FAIL  three o'clock struck 2 times"
LOST = "no hour lost: FAIL"
ANSWERS = {
    "one script": (LUA.format(**RIGHT), "Passed"),
    "watch": (WATCH.format(watch="pipe.watch(STRUCK, LEADERS)"), "Passed"),
    "the stub": ("pass", r"wanted .*\(0, \[3\], 3\), got \(None"),
    "no fence": (LUA.format(**RIGHT | {"fence": ""}), "leader 10, .*wanted .*fenced"),
    "a fence that compares text": (
        LUA.format(**RIGHT | {"fence": "if redis.call('GET', KEYS[2]) > ARGV[2] then return 'fenced' end"}),
        "leader 10, .*wanted .*fenced",
    ),
    "a fence that asks for at least": (
        LUA.format(**RIGHT | {
            "fence": "if tonumber(redis.call('GET', KEYS[2])) > tonumber(ARGV[2]) then return 'fenced' end",
        }),
        "leader 9, .*wanted .*fenced",
    ),
    "goes back": (LUA.format(**RIGHT | {"nothing": "if hour == last then return 0 end"}), r"Last 3, .*strike\(2, 1\)"),
    "makes up for all": (LUA.format(**RIGHT | {"first": "last + 1"}), r"wanted .*\(4, \[7, 8, 9\], 9\)"),
    "the latest alone": (LUA.format(**RIGHT | {"first": "hour"}), r"wanted .*\(0, \[3, 4\], 4\), got \(1"),
    "looks, then acts": (STEPS.format(write=f"{PUSH}\n{SET}"), f"{TWICE}|{LOST}"),
    "the mark first": (STEPS.format(write=f"{SET}\n{PUSH}"), f"{TWICE}|{LOST}"),
    "both in a pipeline": (
        STEPS.format(write="redis.pipeline().rpush(BELL, *range(first, hour + 1)).set(STRUCK, hour).execute()"),
        TWICE,
    ),
    "a watch on the leader alone": (WATCH.format(watch="pipe.watch(LEADERS)"), TWICE),
    "a watch on another key": (WATCH.format(watch="pipe.watch('another key')"), TWICE),
    "the document's mark": (MARK, LOST),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_hours(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))
