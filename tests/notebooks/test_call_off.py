"""The check of notebook 11: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["call_off"]

LUA = """return redis.eval('''
local state = redis.call('HGET', KEYS[3], 'state')
{first}
if state == 'running' then
  redis.call('HSET', KEYS[3], 'cancel', 1)
  return 'requested'
end
{off}
redis.call('HSET', KEYS[3], 'state', 'cancelled')
return 'cancelled'
''', 3, TRAY, LIST, CARDS + room, room).decode()"""
FIRST = "if not state or state == 'done' then return state or 'missing' end"
OFF = "redis.call('LREM', KEYS[1], 0, ARGV[1]) redis.call('ZREM', KEYS[2], ARGV[1])"

WATCH = """from redis.exceptions import WatchError
card = CARDS + room
with redis.pipeline() as pipe:
    while True:
        try:
            {watch}
            state = pipe.hget(card, "state")
            if state in (None, b"done"):
                return state.decode() if state else "missing"
            pipe.multi()
            if state == b"running":
                pipe.hset(card, "cancel", 1)
            else:
                pipe.lrem(TRAY, 0, room)
                pipe.zrem(LIST, room)
                pipe.hset(card, "state", "cancelled")
            pipe.execute()
            return "requested" if state == b"running" else "cancelled"
        except WatchError:
            continue"""

STEPS = """card = CARDS + room
state = redis.hget(card, "state")
if state in (None, b"done"):
    return state.decode() if state else "missing"
if state == b"running":
    redis.hset(card, "cancel", 1)
    return "requested"
{steps}
return "cancelled" """
REMOVE, MARK = "redis.lrem(TRAY, 0, room)\nredis.zrem(LIST, room)", "redis.hset(card, 'state', 'cancelled')"
BY_PLACE = """card = CARDS + room
if redis.lrem(TRAY, 0, room) or redis.zrem(LIST, room):
    redis.hset(card, "state", "cancelled")
    return "cancelled"
state = redis.hget(card, "state")
if state == b"running":
    redis.hset(card, "cancel", 1)
    return "requested"
return state.decode() if state else "missing" """

NEVER_RUN = "cancelled is never run: FAIL  Eve hears 'cancelled', and the call is run"
ANSWERS = {
    "one script": (LUA.format(first=FIRST, off=OFF), "Passed"),
    "watch": (WATCH.format(watch="pipe.watch(card)"), "Passed"),
    "the stub": ("pass", "scheduled: wanted cancelled, .* got None"),
    "deletes the card": ("redis.delete(CARDS + room)\nreturn 'cancelled'", "scheduled: wanted .*got cancelled, {}"),
    "a flag alone": (STEPS.format(steps=MARK), "scheduled: it was called off, and a porter still finds it"),
    "forgets the tray": (LUA.format(first=FIRST, off="redis.call('ZREM', KEYS[2], ARGV[1])"), "ready: it was called"),
    "empties the tray": (LUA.format(first=FIRST, off="redis.call('DEL', KEYS[1], KEYS[2])"), "other rooms lost"),
    "says cancelled of what runs": (
        f"{REMOVE}\nif redis.exists(CARDS + room): redis.hset(CARDS + room, 'state', 'cancelled')\nreturn 'cancelled'",
        "running: wanted requested",
    ),
    "cancels what is done": (LUA.format(first="if not state then return 'missing' end", off=OFF), "done: wanted done"),
    "makes a card": (LUA.format(first="if state == 'done' then return 'done' end", off=OFF), "missing: wanted missing"),
    "looks, then acts": (STEPS.format(steps=f"{MARK}\n{REMOVE}"), NEVER_RUN),
    "looks, then acts, the other way": (STEPS.format(steps=f"{REMOVE}\n{MARK}"), NEVER_RUN),
    "a watch on another key": (WATCH.format(watch="pipe.watch('another key')"), NEVER_RUN),
    "off first, then the mark": (BY_PLACE, "what is done stays done|whole or not at all|requested is heard"),
    "the mark in a second step": (
        LUA.format(first=FIRST, off=OFF).replace("redis.call('HSET', KEYS[3], 'state', 'cancelled')", "")
        .replace("return redis.eval", "said = redis.eval")
        + "\nif said == 'cancelled': redis.hset(CARDS + room, 'state', 'cancelled')\nreturn said",
        "whole or not at all: FAIL  card: ready, in 0 places",
    ),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_button(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))
