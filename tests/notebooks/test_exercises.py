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
    "return redis.zadd(LIST, {room: seconds * 1000}, xx=True, incr=True) is not None": "Passed",
    """return bool(redis.eval("local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) "
       "if not s then return 0 end redis.call('ZADD', KEYS[1], s + ARGV[2] * 1000, ARGV[1]) return 1",
       1, LIST, room, seconds))""": "Passed",
    """script = redis.register_script("local s = redis.call('ZSCORE', KEYS[1], ARGV[1]) "
       "if s then redis.call('ZINCRBY', KEYS[1], ARGV[2], ARGV[1]) end return s and 1 or 0")
    return script(keys=[LIST], args=[room, seconds * 1000]) == 1""": "Passed",
    """from redis.exceptions import WatchError
    with redis.pipeline() as pipe:
        try:
            pipe.watch(LIST)
            score = pipe.zscore(LIST, room)
            if score is None:
                return False
            pipe.multi()
            pipe.zadd(LIST, {room: score + seconds * 1000})
            pipe.execute()
        except WatchError:
            return postpone(redis, room, seconds)
    return True""": "Passed",
    "pass": "wanted True .* got None and 5000000",
    "return True": "wanted True",
    "redis.zadd(LIST, {room: seconds * 1000}, xx=True, incr=True)": "got None and 5600000",
    "return redis.zadd(LIST, {room: seconds}, xx=True, incr=True) is not None": "got True and 5000600",
    "return redis.zadd(LIST, {room: clock.now() + seconds * 1000}, xx=True, ch=True) == 1": "wanted True",
    "return redis.zincrby(LIST, seconds * 1000, room) > 0": "on no list: wanted False",
    "redis.zincrby(LIST, seconds * 1000, room)\n    return True": "on no list: wanted False",
    """score = redis.zscore(LIST, room)
    if score is None:
        return False
    redis.zadd(LIST, {room: score + seconds * 1000})
    return True""": "put it back",
    """if redis.zscore(LIST, room) is None:
        return False
    redis.zincrby(LIST, seconds * 1000, room)
    return True""": "put it back",
    """pipe = redis.pipeline()
    score = pipe.zscore(LIST, room).execute()[0]
    if score is None:
        return False
    pipe.zadd(LIST, {room: score + seconds * 1000}).execute()
    return True""": "put it back",
    """with redis.pipeline() as pipe:
        pipe.watch("another key")
        score = pipe.zscore(LIST, room)
        if score is None:
            return False
        pipe.multi()
        pipe.zadd(LIST, {room: score + seconds * 1000})
        pipe.execute()
    return True""": "put it back",
    """score = redis.zscore(LIST, room)
    if not redis.zrem(LIST, room):
        return False
    redis.zadd(LIST, {room: score + seconds * 1000})
    return True""": "nobody is woken",
    """pipe = redis.pipeline()
    score, struck = pipe.zscore(LIST, room).zrem(LIST, room).execute()
    if not struck:
        return False
    redis.zadd(LIST, {room: score + seconds * 1000})
    return True""": "nobody is woken",
    """if redis.zscore(LIST, room) is None:
        return False
    redis.zadd(LIST, {room: seconds * 1000}, xx=True, incr=True)
    return True""": "at 5000000.0, and you answered True",
    """if redis.zscore(LIST, room) is None:
        return False
    redis.zadd(LIST, {room: 5_600_000}, xx=True)
    return True""": "60 s later: wanted True and 5060000.0",
    """score = redis.zscore(LIST, room)
    if score is None:
        return False
    return redis.zadd(LIST, {room: score + seconds * 1000}, xx=True, ch=True) == 1""": "Another porter put it off",
    """with redis.pipeline() as pipe:
        pipe.watch(LIST)
        score = pipe.zscore(LIST, room)
        if score is None:
            return False
        pipe.multi()
        pipe.zadd(LIST, {room: score + seconds * 1000})
        pipe.execute()
    return True""": "WatchError",
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
    namespace = {"redis": redis, "clock": redis.clock, "LIST": "list"}
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
