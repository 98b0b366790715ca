"""The check of notebook 07: a wrong answer fails with the promise that it breaks, different right ones pass."""

import re

import pytest
from support.task import TASKS

TASK = TASKS["points"]
SCRIPT = """if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[2], ARGV[2], ARGV[3])
return 1"""
RACE = "eve has 30: FAIL  Eve has 60 points .* 1 forced switch"
AGAIN = "a week later: wanted False and 50, got"
ANSWERS = {
    # right
    f'return redis.eval("""{SCRIPT}""", 2, GIVEN, POINTS, order, guest, points) == 1': "Passed",
    f'script = redis.register_script("""{SCRIPT}""")\n'
    "    return bool(script(keys=[GIVEN, POINTS], args=[order, guest, points]))": "Passed",
    """from redis.exceptions import WatchError
    with redis.pipeline() as pipe:
        try:
            pipe.watch(GIVEN)
            if pipe.sismember(GIVEN, order):
                return False
            pipe.multi()
            pipe.sadd(GIVEN, order).hincrby(POINTS, guest, points).execute()
        except WatchError:
            return add_points(redis, order, guest, points)
    return True""": "Passed",
    # document C: looks, then saves, then works
    """if redis.sismember(GIVEN, order):
        return False
    redis.sadd(GIVEN, order)
    redis.hincrby(POINTS, guest, points)
    return True""": RACE,
    # the mark first, the mark last
    """if not redis.sadd(GIVEN, order):
        return False
    redis.hincrby(POINTS, guest, points)
    return True""": "eve has 30: FAIL  Eve has 0 points .* 1 crash",
    """if redis.sismember(GIVEN, order):
        return False
    redis.hincrby(POINTS, guest, points)
    redis.sadd(GIVEN, order)
    return True""": RACE,
    """redis.hincrby(POINTS, guest, points)
    return redis.sadd(GIVEN, order) == 1""": AGAIN,
    # both in a transaction, and nobody asked; asked outside of it
    """redis.pipeline().sadd(GIVEN, order).hincrby(POINTS, guest, points).execute()
    return True""": AGAIN,
    """new, _ = redis.pipeline().sadd(GIVEN, order).hincrby(POINTS, guest, points).execute()
    return new == 1""": AGAIN,
    """if redis.sismember(GIVEN, order):
        return False
    redis.pipeline().sadd(GIVEN, order).hincrby(POINTS, guest, points).execute()
    return True""": RACE,
    # a wrong sum is taken back: for a moment, and after a crash, it stands there
    """redis.hincrby(POINTS, guest, points)
    if redis.sadd(GIVEN, order):
        return True
    redis.hincrby(POINTS, guest, -points)
    return False""": "eve has 30: FAIL  Eve has 60 points .* 1 crash",
    # set in place of added; a mark with an end
    """if not redis.sadd(GIVEN, order):
        return False
    redis.hset(POINTS, guest, points)
    return True""": "20 more for order 2: wanted True and 50, got True and 20",
    """if redis.set(GIVEN + order, 1, nx=True, ex=3600):
        redis.hincrby(POINTS, guest, points)
        return True
    return False""": AGAIN,
    # right, and tells both of two porters that it was he
    f"""before = redis.sismember(GIVEN, order)
    redis.eval('''{SCRIPT}''', 2, GIVEN, POINTS, order, guest, points)
    return not before""": r"one says so: FAIL  two porters say \[True, True\]",
    # right, and says nothing
    f'redis.eval("""{SCRIPT}""", 2, GIVEN, POINTS, order, guest, points)': "wanted True and 30, got None and 30",
    "pass": "got None and 0",
    "return True": "got True and 0",
}


@pytest.mark.parametrize("body", ANSWERS)
def test_points_once_per_order(redis, body):
    assert re.search(ANSWERS[body], TASK.verdict(redis, body.replace("\n    ", "\n")))
