"""The check of notebook 06: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["chalk"]

LUA = """return redis.eval('''
local seen = tonumber(redis.call('HGET', KEYS[1], 'token') or 0)
if tonumber(ARGV[2]) < seen then return 0 end
redis.call('HSET', KEYS[1], 'bottles', ARGV[1], 'token', ARGV[2])
return 1
''', 1, BOARDS + wine, bottles, token) == 1"""

WATCH = """from redis.exceptions import WatchError
with redis.pipeline() as pipe:
    while True:
        try:
            pipe.watch({watched})
            if int(pipe.hget(BOARDS + wine, "token") or 0) > token:
                return False
            pipe.multi()
            pipe.hset(BOARDS + wine, mapping={{"bottles": bottles, "token": token}})
            pipe.execute()
            return True
        except WatchError:
            {refused}"""
WATCHED = WATCH.format(watched="BOARDS + wine", refused="continue")

LOOK = """if int(redis.hget(BOARDS + wine, "token") or 0) > token:
    return False
{write}
return True"""
BOTH = "redis.hset(BOARDS + wine, mapping={'bottles': bottles, 'token': token})"

TOKEN_ALONE = """return redis.eval('''
local seen = tonumber(redis.call('HGET', KEYS[1], 'token') or 0)
if tonumber(ARGV[1]) < seen then return 0 end
return redis.call('HSET', KEYS[1], 'token', ARGV[1]) + 1
''', 1, BOARDS + wine, token) > 0 and redis.hset(BOARDS + wine, 'bottles', bottles) >= 0"""

LATE = r"Ada comes late, token 8: wanted False and \(390, 9\), got"
NEWEST = r"the newest stays: FAIL  the board says \(400, 9\)"
FIT = r"number and bottles fit: FAIL  the board says"
MONTH = "A month later Ada wakes, token 8: wanted False"
ANSWERS = {
    # right
    "one script": (LUA, "Passed"),
    "watch": (WATCHED, "Passed"),
    "a registered script": (
        LUA.replace("redis.eval(", "redis.register_script(", 1).replace(
            ", 1, BOARDS + wine, bottles, token)", ")(keys=[BOARDS + wine], args=[bottles, token])"
        ),
        "Passed",
    ),
    # nobody compares
    "just writes": (f"{BOTH}\nreturn True", LATE),
    "says so only": (
        "seen = int(redis.hget(BOARDS + wine, 'token') or 0)\n" + BOTH + "\nreturn token >= seen",
        LATE,
    ),
    # compared before the write, not in its step
    "looks first": (LOOK.format(write=BOTH), NEWEST),
    "looks twice": (LOOK.format(write="\n".join(LOOK.format(write=BOTH).splitlines()[:3])), NEWEST),
    "a watch on another key": (WATCH.format(watched="'another key'", refused="continue"), NEWEST),
    "gives up when it is disturbed": (
        WATCH.format(watched="BOARDS + wine", refused="return False"),
        r"the newest stays: FAIL|true was said of the newest: FAIL",
    ),
    # the comparison itself
    "as texts": (LUA.replace("tonumber(ARGV[2]) < seen", "ARGV[2] < tostring(seen)"), "Cleo, token 10"),
    "refuses its own repetition": (LUA.replace("< seen", "<= seen"), "he asks again: wanted True"),
    "the other way round": (LUA.replace("< seen", "> seen"), "Ada, token 8, counts the red: wanted True"),
    "any other number": (LUA.replace("< seen", "~= seen and seen > 0"), "Bob, token 9, counts it anew"),
    "the fewer bottles": (
        LUA.replace("'token') or 0", "'bottles') or 999").replace("(ARGV[2]) < seen", "(ARGV[1]) > seen"),
        "Cleo, token 10, after a delivery: wanted True",
    ),
    # where the number is kept
    "in the memory of the process": (
        "if token < SEEN.get(wine, 0):\n    return False\nSEEN[wine] = token\n" + BOTH + "\nreturn True",
        r"who comes first is heard: FAIL  an empty board, and now it says \(None, None\)",
    ),
    "one number for all wines": (
        LUA.replace("'HGET', KEYS[1], 'token'", "'GET', KEYS[2]")
        .replace("return 1\n", "redis.call('SET', KEYS[2], ARGV[2])\nreturn 1\n")
        .replace("1, BOARDS + wine,", "2, BOARDS + wine, BOARDS + 'seen',"),
        r"Dan, token 7, counts the white: wanted True",
    ),
    "a board that is wiped after a day": (
        LUA.replace("return 1\n", "redis.call('EXPIRE', KEYS[1], 86400)\nreturn 1\n"),
        MONTH,
    ),
    "no number kept": (LUA.replace(", 'token', ARGV[2])", ")"), r"counts the red: wanted True and \(400, 8\)"),
    # two steps
    "the token first, the bottles after": (TOKEN_ALONE, FIT),
    "the bottles by hand": (LOOK.format(write=BOTH.replace("mapping={'bottles': bottles, 'token': token}", "'bottles', "
     "bottles") + "\nredis.hset(BOARDS + wine, 'token', token)"), f"{NEWEST}|{FIT}"),
    # right, and tells it otherwise
    "a number for an answer": (LUA.removesuffix(" == 1"), "Passed"),
    "nothing for an answer": (LUA.removeprefix("return "), "got None"),
    "the stub": ("pass", r"got None and \(None, None\)"),
    "yes": ("return True", r"got True and \(None, None\)"),
}  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_board(redis, answer):
    body, said = ANSWERS[answer]
    assert re.search(said, TASK.verdict(redis, body))
