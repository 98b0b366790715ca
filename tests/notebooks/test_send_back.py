"""The check of notebook 10: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["send_back"]

LUA = """script = '''
local t = redis.call('TIME')
local now, dead = t[1] * 1000 + math.floor(t[2] / 1000), {{}}
for i = 3, #ARGV do
  if redis.call('ZREM', KEYS[1], ARGV[i]) == 1 then dead[#dead + 1] = ARGV[i] end
end
for n, room in ipairs(dead) do
  redis.call('ZADD', KEYS[2], now + {wait}, room)
  {card}
end
return #dead'''
return redis.eval(script, 2, DEAD, DELAYED, over, CARD, *rooms)"""
WAIT, CARD = "(n - 1) * ARGV[1] / #dead", "redis.call('HSET', ARGV[2] .. room, 'attempts', 0)"

WATCH = """from redis.exceptions import WatchError
with redis.pipeline() as pipe:
    while True:
        try:
            {watch}
            dead = [room for room in rooms if pipe.zscore(DEAD, room) is not None]
            seconds, micros = pipe.time()
            pipe.multi()
            for n, room in enumerate(dead):
                pipe.zrem(DEAD, room)
                pipe.zadd(DELAYED, {{room: seconds * 1000 + micros // 1000 + n * over // len(dead)}})
                pipe.hset(CARD + room, "attempts", 0)
            pipe.execute()
            return len(dead)
        except WatchError:
            continue"""

LOOP = """seconds, micros = redis.time()
now = {now}
dead = [room for room in rooms if {dead}]
sent = 0
for n, room in enumerate(dead):
    when = {{room: now + {wait}}}
{steps}
    sent += 1
return {answer}"""
STEPS = (
    "if not redis.zrem(DEAD, room): continue",
    "redis.hset(CARD + room, 'attempts', 0)",
    "redis.zadd(DELAYED, when)",
)


def loop(*steps, now="seconds * 1000 + micros // 1000", dead="redis.zscore(DEAD, room) is not None",
         wait="n * over // len(dead)", answer="sent"):  # fmt: skip
    """A loop in Python, one command after the other."""
    lines = "\n".join(f"    {step}" for step in steps)
    return LOOP.format(now=now, dead=dead, wait=wait, steps=lines, answer=answer)


ANSWERS = {
    "one script": (LUA.format(wait=WAIT, card=CARD), "Passed"),
    "watch": (WATCH.format(watch="pipe.watch(DEAD)"), "Passed"),
    "the stub": ("pass", "wanted the answer 4, got None"),
    "off, then on": (loop(*STEPS), "each is in one place: FAIL  room 1 stands in 0 places"),
    "on, then off": (loop(*STEPS[::-1]), "each is in one place: FAIL  room . stands in 2 places"),
    "its own clock": (loop(*STEPS, now="redis.clock.now()"), "your clock, not the server's"),
    "all at once": (LUA.format(wait="0", card=CARD), r"got \[0, 0, 0, 0\]"),
    "old attempts": (LUA.format(wait=WAIT, card=""), "attempts become 0"),
    "a new card": (LUA.format(wait=WAIT, card="redis.call('DEL', ARGV[2] .. room) " + CARD), "the guest stays"),
    "never asks": (loop("redis.zrem(DEAD, room)", *STEPS[1:], dead="True"), "Room 5 is not dead"),
    "counts all": (LUA.format(wait=WAIT, card=CARD).replace("return redis.eval", "redis.eval") + "\nreturn len(rooms)",
                   "don't count it"),
    "a place for each": (LUA.format(wait="(n - 1) * ARGV[1] / (#ARGV - 2)", card=CARD), "due at 0 and 200"),
    "stays dead": (loop(*STEPS[1:]), "still in DEAD"),
    "without the watch": (WATCH.format(watch="pipe.watch('another key')"), "4 rooms, and [5-8] were sent back"),
    "attempts afterwards": (
        LUA.format(wait=WAIT, card="").replace("return redis.eval", "sent = redis.eval")
        + "\nfor room in rooms:\n    if redis.zscore(DELAYED, room) and room != 'room 5':"
        + "\n        redis.hset(CARD + room, 'attempts', 0)\nreturn sent",
        "room . is back, and has 3 attempts",
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_send_them_back(fake, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(fake, body))
