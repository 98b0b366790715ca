"""The check of notebook 05: wrong rounds fail with the right promise named, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["round"]

HEAD = """rooms, start = [], "0-0"
while True:
    start, entries, *_ = redis.xautoclaim(LINE, "porters", me, {ms}, start_id=start)
    for entry, fields in entries:
        [seen] = redis.xpending_range(LINE, "porters", entry, entry, 1)
        if seen["times_delivered"] > {most}:
"""
TAIL = """
        else:
            rooms.append(fields[b"room"].decode())
    if {end}:
        return rooms
"""
BURY = """            redis.sadd(BURIED, fields[b"room"])
            redis.xack(LINE, "porters", entry)
            redis.xdel(LINE, entry)"""


def claiming(body=BURY, ms="LEASE", most="3", end='start == b"0-0"'):
    return HEAD.format(ms=ms, most=most) + body + TAIL.format(end=end)


def reading(ms="LEASE", heed="got", idle="LEASE"):
    """Read the book first, then claim entry by entry."""
    return f"""rooms = []
for seen in redis.xpending_range(LINE, "porters", "-", "+", 1000, idle={idle}):
    entry = seen["message_id"]
    [(_, fields)] = redis.xrange(LINE, entry, entry)
    if seen["times_delivered"] >= 3:
        redis.sadd(BURIED, fields[b"room"])
        redis.xack(LINE, "porters", entry)
        continue
    got = redis.xclaim(LINE, "porters", me, {ms}, [entry])
    if {heed}:
        rooms.append(fields[b"room"])
return rooms
"""


LUA = '''return [room.decode() for room in redis.eval("""
local rooms, start = {}, '0-0'
repeat
  local got = redis.call('XAUTOCLAIM', KEYS[1], 'porters', ARGV[1], ARGV[2], start)
  start = got[1]
  for _, e in ipairs(got[2]) do
    if redis.call('XPENDING', KEYS[1], 'porters', e[1], e[1], 1)[1][4] > 3 then
      redis.call('SADD', KEYS[2], e[2][2])
      redis.call('XACK', KEYS[1], 'porters', e[1])
    else rooms[#rooms + 1] = e[2][2] end
  end
until start == '0-0'
return rooms""", 2, LINE, BURIED, me, LEASE)]
'''
BURY_LAST = """            redis.xack(LINE, "porters", entry)
            redis.xdel(LINE, entry)
            redis.sadd(BURIED, fields[b"room"])"""
BOTH = "no room has two porters: FAIL  two porters go to room 9 "
ANSWERS = {
    "the solution's way": (claiming(), "Passed"),
    "the book first": (reading(), "Passed"),
    "one script": (LUA, "Passed"),
    "the stub": ("pass", "Ada was silent"),
    "nobody is late enough": (claiming(ms="LEASE * 2"), "Ada was silent"),
    "JUSTID does not count": (
        """found = redis.xautoclaim(LINE, "porters", me, LEASE, justid=True)
return [fields[b"room"] for entry in found for _, fields in redis.xrange(LINE, entry, entry)]""",
        "handed out once more",
    ),
    "from the living, too": (claiming(ms="0"), "Bob has just taken room 30"),
    "the first page alone": (claiming(end="True"), "you took over 100"),
    "never buried": (claiming(most="99"), "hand it out again"),
    "buried too late by one": (claiming(most="4"), "hand it out again"),
    "buried too early by one": (claiming(most="2"), "wanted both"),
    "buried and not ticked off": (claiming('            redis.sadd(BURIED, fields[b"room"])'), "out of the book"),
    "ticked off and not buried": (claiming('            redis.xack(LINE, "porters", entry)'), "belongs into BURIED"),
    "ticked off first": (claiming(BURY_LAST), "nothing is lost: FAIL  room 13 is lost .* 1 crash"),
    "without the ms": (reading(ms="0"), BOTH),
    "its answer not read": (reading(heed="True"), BOTH),
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_round(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))
