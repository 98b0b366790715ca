"""A check that a wrong answer can pass is a bug: each is held against answers of both kinds, on both servers."""

import re

import pytest

from jobkit.cli import notebooks, store
from jobkit.explore import explore
from jobkit.plot import Table

PORTER = """
def careful(r, w):
    due = r.zrange("calls", "-inf", r.clock.now(), byscore=True)
    for room in due:
        struck = r.zrem("calls", room)
        if {condition}:
            w.effect(f"ring {{room.decode()}}")
"""

TWICE, NEVER = "the phone rings 2 times", "the phone rings 0 times"
PORTERS = {
    "if struck": "",
    "if struck == 1": "",
    "if struck > 0": "",
    "if True": TWICE,
    "if room": TWICE,
    "if due": TWICE,
    "if struck is not None": TWICE,
    "if not r.zcard('calls')": TWICE,
    "if False": NEVER,
    "if not struck": NEVER,
    "if w.name == 'A'": NEVER,
    "if w.name == 'A' and struck": NEVER,
    "if r.zcard('calls')": NEVER,
    "if name == 'Ada'": "A raised NameError: name 'name' is not defined",
    "if struck.decode()": "A raised AttributeError",
}

POSTPONES = {
    "return redis.zadd(CALLS, {room: seconds * 1000}, xx=True, incr=True) is not None": "Passed",
    """return bool(redis.eval("local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) "
       "if not s then return 0 end redis.call('ZADD', KEYS[1], s + ARGV[2] * 1000, ARGV[1]) return 1",
       1, CALLS, room, seconds))""": "Passed",
    """script = redis.register_script("local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) "
       "if s then redis.call('ZINCRBY', KEYS[1], ARGV[2], ARGV[1]) end return s and 1 or 0")
    return script(keys=[CALLS], args=[room, seconds * 1000]) == 1""": "Passed",
    """from redis.exceptions import WatchError
    with redis.pipeline() as pipe:
        try:
            pipe.watch(CALLS)
            score = pipe.zscore(CALLS, room)
            if score is None:
                return False
            pipe.multi()
            pipe.zadd(CALLS, {room: score + seconds * 1000})
            pipe.execute()
        except WatchError:
            return postpone(redis, room, seconds)
    return True""": "Passed",
    "pass": "wanted: it returned True, and its score is 5600000.0. Got: it returned None, and its score is 5000000.0",
    "return True": "Got: it returned True, and its score is 5000000.0",
    "redis.zadd(CALLS, {room: seconds * 1000}, xx=True, incr=True)": "Got: it returned None, and its score is 5600000",
    "return redis.zadd(CALLS, {room: seconds}, xx=True, incr=True) is not None": "True, and its score is 5000600",
    "return redis.zadd(CALLS, {room: clock.now() + seconds * 1000}, xx=True, ch=True) == 1": "wanted: it returned True",
    "return redis.zincrby(CALLS, seconds * 1000, room) > 0": "on no list: wanted: it returned False",
    "redis.zincrby(CALLS, seconds * 1000, room)\n    return True": "on no list: wanted: .*False.* it returned True",
    """score = redis.zscore(CALLS, room)
    if score is None:
        return False
    redis.zadd(CALLS, {room: score + seconds * 1000})
    return True""": "put it back",
    """if redis.zscore(CALLS, room) is None:
        return False
    redis.zincrby(CALLS, seconds * 1000, room)
    return True""": "put it back",
    """pipe = redis.pipeline()
    score = pipe.zscore(CALLS, room).execute()[0]
    if score is None:
        return False
    pipe.zadd(CALLS, {room: score + seconds * 1000}).execute()
    return True""": "put it back",
    """with redis.pipeline() as pipe:
        pipe.watch("another key")
        score = pipe.zscore(CALLS, room)
        if score is None:
            return False
        pipe.multi()
        pipe.zadd(CALLS, {room: score + seconds * 1000})
        pipe.execute()
    return True""": "put it back",
    """new = redis.zincrby(CALLS, seconds * 1000, room)
    if new == seconds * 1000:
        redis.zrem(CALLS, room)
        return False
    return True""": "after your command 1 it stood there, at 600000.0",
    """before, _ = redis.pipeline().zscore(CALLS, room).zincrby(CALLS, seconds * 1000, room).execute()
    if before is None:
        redis.zrem(CALLS, room)
    return before is not None""": "after your command 1 it stood there",
    """if redis.zscore(CALLS, room) is None:
        redis.zadd(CALLS, {room: 1})
        redis.zrem(CALLS, room)
        return False
    return redis.zadd(CALLS, {room: seconds * 1000}, xx=True, incr=True) is not None""": "2 it stood there",
    """for name in redis.zrange(CALLS, 0, -1):
        redis.zincrby(CALLS, seconds * 1000, name)
    return redis.zscore(CALLS, room) is not None""": "touched room 412, too",
    "return redis.zad(CALLS, {room: seconds * 1000})": "Got: line 2 raised AttributeError: .*zad",
    "return redis.zadd(CALLS, {rooms: seconds * 1000})": "line 2 raised NameError: name 'rooms' is not defined",
    """score = redis.zscore(CALLS, room)
    if not redis.zrem(CALLS, room):
        return False
    redis.zadd(CALLS, {room: score + seconds * 1000})
    return True""": "nobody is woken",
    """pipe = redis.pipeline()
    score, struck = pipe.zscore(CALLS, room).zrem(CALLS, room).execute()
    if not struck:
        return False
    redis.zadd(CALLS, {room: score + seconds * 1000})
    return True""": "nobody is woken",
    """if redis.zscore(CALLS, room) is None:
        return False
    redis.zadd(CALLS, {room: seconds * 1000}, xx=True, incr=True)
    return True""": "at 5000000.0, and it returned True",
    """if redis.zscore(CALLS, room) is None:
        return False
    redis.zadd(CALLS, {room: 5_600_000}, xx=True)
    return True""": "60 s later: wanted: it returned True, and its score is 5060000.0",
    """score = redis.zscore(CALLS, room)
    if score is None:
        return False
    return redis.zadd(CALLS, {room: score + seconds * 1000}, xx=True, ch=True) == 1""": "Another porter put it off",
    """with redis.pipeline() as pipe:
        pipe.watch(CALLS)
        score = pipe.zscore(CALLS, room)
        if score is None:
            return False
        pipe.multi()
        pipe.zadd(CALLS, {room: score + seconds * 1000})
        pipe.execute()
    return True""": "at 5000000.0, and line 9 raised WatchError",
}


def verdict(name, answer, namespace):
    """Run the check's cells of a notebook with an answer; return what the last of them says, as text."""
    exec(answer, namespace)
    said = None
    for cell in store.load(notebooks.FOLDER / f"{name}.py").cells:
        if "check" in cell.metadata.get("tags", []):
            *body, last = cell.source.rstrip().split("\n")
            exec("\n".join([*body, f"said = {last}" if last.startswith("check(") else last]), namespace)
            said = namespace.get("said")
    return said.caption if isinstance(said, Table) else said


@pytest.mark.parametrize("condition", PORTERS)
def test_start_one_line(condition):
    namespace = {"explore": explore}
    for cell in store.load(notebooks.FOLDER / "00_start.py").cells:
        if "def one_call" in cell.source:
            exec(cell.source, namespace)
        elif "check" in cell.metadata.get("tags", []):
            exec(PORTER.format(condition=condition.removeprefix("if ")), namespace)
            exec(cell.source, namespace)
    report = namespace["report"]
    assert (report.failure.what if report.failure else "").startswith(PORTERS[condition])
    assert bool(report) == (not PORTERS[condition])


@pytest.mark.parametrize("body", POSTPONES)
def test_ten_minutes_later(redis, body):
    namespace = {"redis": redis, "clock": redis.clock, "CALLS": "calls"}
    answer = f"def postpone(redis, room, seconds):\n    {body}"
    assert re.search(POSTPONES[body], verdict("01_sorted_set", answer, namespace))


@pytest.mark.parametrize("page", ["00_start", "01_sorted_set"])
def test_the_stub_does_not_pass(page, as_stored):
    cells = as_stored(page).cells
    last = [cell for cell in cells if "check" in cell.metadata.get("tags", [])][-1]
    assert "Not yet" in str(last.outputs)


def test_the_solution_in_the_fold_is_one_that_passes():
    prose = {
        name: " ".join(c.source for c in store.load(notebooks.FOLDER / f"{name}.py").cells)
        for name in ("00_start", "01_sorted_set")
    }
    assert "`if struck:`" in prose["00_start"]
    assert next(body for body, said in POSTPONES.items() if said == "Passed") in prose["01_sorted_set"]
