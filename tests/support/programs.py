"""Workers of all sorts, to be explored in this process and apart: with the same report."""

import random
import secrets
import threading
import time
import uuid

import redis

from jobkit.explore import each_runs_once, jobs, none_runs_twice, nothing_lost

TAKE = "-- take\nlocal job = redis.call('ZPOPMIN', KEYS[1])[1] return job"


class Own(ValueError):
    """An error of the file's own."""


def due(r):
    return r.zrange("delayed", "-inf", time.time() * 1000, byscore=True, offset=0, num=10)


def racy(r, w):
    for job in due(r):
        r.zrem("delayed", job)
        w.effect(f"run {job.decode()}")


def checked(r, w):
    for job in due(r):
        if r.zrem("delayed", job):
            w.effect(f"run {job.decode()}")


def moved(r):
    for job in due(r):
        if r.zrem("delayed", job):
            r.rpush("ready", job)


def counted(r, w):
    try:
        r.incr("n")
    except redis.ConnectionError:
        r.incr("n")
    w.effect(f"n is {r.get('n').decode()}")


def leased(r, w):
    if r.set("lease", w.name, nx=True, px=3000):
        time.sleep(random.choice([1, 4]))
        w.effect(f"in lease at {time.time()}")
        r.delete("lease")


def producer(r):
    r.rpush("jobs", "a")


def consumer(r, w):
    found = r.blpop("jobs", timeout=5)
    w.effect(f"run {found[1].decode()}" if found else "nothing came")


def watching(r):
    with r.pipeline() as pipe:
        while True:
            try:
                pipe.watch("n")
                n = int(pipe.get("n") or 0)
                pipe.multi()
                pipe.set("n", n + 1)
                pipe.execute()
            except redis.WatchError:
                continue
            return n


def scripted(r, w):
    take = r.register_script(TAKE)
    while job := take(keys=["delayed"]):
        w.effect(f"run {job.decode()}")


def locked(r, w):
    with r.lock("lock", timeout=10, blocking_timeout=3):
        n = int(r.get("n") or 0)
        r.set("n", n + 1)
        w.effect(f"{n}")


def streaming(r, w):
    for _, entries in r.xreadgroup("g", w.name, {"s": ">"}, count=1):
        for id, fields in entries:
            w.effect(f"run {fields[b'job'].decode()}")
            r.xack("s", "g", id)


def recovering(r, w):
    _, entries, _ = r.xautoclaim("s", "g", w.name, 0)
    for id, fields in entries:
        w.effect(f"run {fields[b'job'].decode()}")
        r.xack("s", "g", id)


def piped(r):
    with r.pipeline(transaction=False) as pipe:
        pipe.get("n").incr("n").incr("n")
        return pipe.execute()


def chance(r, w):
    r.set("k", uuid.uuid4().hex)
    w.effect(f"{random.random()} {secrets.token_hex(4)} {random.sample(range(9), 3)} {uuid.uuid1()}")
    r.sadd("s", *"abcdef")
    w.effect(f"{r.spop('s')}")


def raising(r):
    r.incr("n")
    raise Own("out of order")


def leaving(r):
    r.incr("n")
    raise SystemExit(3)


def telling(r):
    return r.incr("n"), r.get("n"), {"a": [1.5, None, True], 2: b"\xff"}


def erring(r, w):
    broken = {
        "wrong type": lambda: r.lpush("zset", 1),
        "no script": lambda: r.evalsha("0" * 40, 0),
        "read only": lambda: r.eval("return redis.error_reply('READONLY not here')", 0),
        "aborted": lambda: r.pipeline().execute_command("SET", "x").execute(),
        "busy group": lambda: r.xgroup_create("s", "g"),
        "no words": lambda: r.execute_command("NONSENSE"),
    }
    for what, call in broken.items():
        try:
            call()
        except redis.RedisError as error:
            w.effect(f"{what}: {type(error).__mro__} {error}")


def empty_words(r, w):
    for words in ["SCRIPT", "EVAL", "EVALSHA", "GET", "BLPOP", "XREAD BLOCK 0 STREAMS", "EVALSHA \xff 0", "\xff"]:
        try:
            r.execute_command(*words.encode("latin-1").split())
        except redis.ResponseError as error:
            w.effect(str(error))


def starting_a_thread(r):
    threading.Thread(target=r.incr, args=["n"]).start()


async def asynchronous(r):
    r.incr("n")


def stream(redis):
    redis.xgroup_create("s", "g", mkstream=True)
    redis.xadd("s", {"job": "a"})


def zset(redis):
    redis.zadd("zset", {"a": 1})
    stream(redis)


def told(world):
    ends = world.answers
    return len(ends) < 2 or ends["A"][1:] != ends["B"][1:] or f"{ends} {type(ends['A'])}"


def once_in_lease(world):
    return len(world.effects) < 2 or "two in the lease"


def three_effects(world):
    return len(world.effects) != 3 or f"three: {world.effects}"


def all_effects(world):
    return f"{sorted(world.effects)} {world.answers}"


def n_is_two(world):
    return world.redis.get("n") == b"2"


RUN = {"given": jobs(1), "finally_": each_runs_once}
CASES = {
    "racy": (["racy", "racy"], RUN),
    "racy, drawn": (["racy", "racy", "racy"], RUN | {"seed": 7, "schedules": 20}),
    "checked": (["checked", "checked"], RUN | {"given": jobs(2), "bound": None}),
    "crash": (["moved", "moved"], {"given": jobs(1), "finally_": nothing_lost("delayed", "ready"), "crashes": 1}),
    "lost reply": (["counted", "counted"], {"lost_replies": 1, "finally_": n_is_two}),
    "sleep": (["leased", "leased"], {"finally_": once_in_lease, "offsets": [0, -2]}),
    "jump": (["leased", "leased"], {"finally_": once_in_lease, "clock_jump": 2.5, "bound": 1}),
    "blocking": (["consumer", "producer", "consumer"], {"finally_": none_runs_twice}),
    "watch": (["watching", "watching"], {"finally_": n_is_two, "crashes": 1, "bound": None}),
    "lua": (["scripted", "scripted"], RUN | {"given": jobs(3), "bound": None, "schedules": 200}),
    "lua, crash": (["scripted", "scripted"], RUN | {"crashes": 1}),
    "lock": (["locked", "locked"], {"finally_": n_is_two}),
    "stream": (["streaming", "streaming"], {"given": stream, "finally_": none_runs_twice, "crashes": 1}),
    "recovery": (
        ["streaming"],
        {"given": stream, "finally_": each_runs_once, "crashes": 1, "after_crash": "recovering", "bound": None},
    ),
    "pipeline": (["piped", "piped"], {"finally_": all_effects, "bound": 1}),
    "pipeline, whole": (["piped", "piped"], {"finally_": all_effects, "whole_pipelines": True}),
    "chance": (["chance", "chance"], {"finally_": all_effects}),
    "an error of its own": (["raising", "raising"], {}),
    "an error that is allowed": (["raising", "raising"], {"may_raise": (ValueError,), "finally_": n_is_two}),
    "an exit": (["leaving"], {}),
    "return values": (["telling", "telling"], {"finally_": told, "bound": None}),
    "errors of the server": (["erring"], {"given": zset, "finally_": all_effects}),
    "words missing": (["empty_words"], {"finally_": all_effects}),
    "reduced": (["racy", "racy"], RUN | {"reduce": False, "bound": None}),
    "always": (["racy", "racy"], {"given": jobs(2), "always": none_runs_twice}),
    "never": (["leased", "leased"], {"never": three_effects, "offsets": [5]}),
}
"""Name -> (workers, what `explore` is asked for)."""
