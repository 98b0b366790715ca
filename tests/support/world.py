"""A queue's whole state in a form that a test can write down."""

from collections import Counter

from jobkit.errors import UnknownJob
from jobkit.keys import PRIORITIES, Keys

WAITING = {b"streams": b"stream", b"lists": b"list", b"leases": b"list"}
TYPES = {
    "delayed": b"zset",
    "leases": b"zset",
    "lanes": b"hash",
    "waiting": b"zset",
    "dead": b"zset",
    "store": b"string",
    "totals": b"hash",
    "lateness": b"hash",
    "tokens": b"string",
    "terms": b"string",
    "leader": b"string",
    "schedules": b"zset",
    "schedule": b"hash",
    "job": b"hash",
}


def row(queue, id="j"):
    """Say all of one job: `running 2/5 #7 [retry 1, running 2]`, and whether its record expires."""
    try:
        job = queue.get(id)
    except UnknownJob:
        return "missing"
    token, ttl = queue.redis.hget(queue.keys.job + id, "token"), queue.redis.pttl(queue.keys.job + id)
    past = ", ".join(f"{event.outcome} {event.attempt}" for event in queue.history(id))
    return (
        f"{job.state} {job.attempt}/{job.max_attempts}"
        + (f" #{token.decode()}" if token else "")
        + (f" [{past}]" if past else "")
        + ("" if ttl < 0 else ", expires")
    )


def ids(queue):
    """Return the ids of all records."""
    prefix = queue.keys.job.encode()
    return sorted(key[len(prefix) :].decode() for key in queue.redis.scan_iter(count=1000) if key.startswith(prefix))


def rows(queue):
    """Say all of every job."""
    return {id: row(queue, id) for id in ids(queue)}


def totals(queue):
    """Return the totals as a Counter, so that two can be subtracted."""
    return Counter(queue.counts().totals)


def levels(queue):
    """Return (scheduled, ready, running, dead)."""
    counts = queue.counts()
    return counts.scheduled, counts.ready, counts.running, counts.dead


def check_books(queue):
    """Assert that levels, totals and records tell the same story.

    Holds as long as nobody tampered with the server's contents. Records of finished jobs may be
    gone; those of live ones may not.
    """
    counts, sums, states = queue.counts(), totals(queue), _states(queue)
    assert (counts.scheduled, counts.running, counts.dead) == (states["scheduled"], states["running"], states["dead"])
    assert counts.ready == states["ready"] + states["waits to be skipped"]
    assert counts.waiting == states["waiting"]
    live = states["scheduled"] + states["waiting"] + states["ready"] + states["running"]
    came, went = sums["submitted"] + sums["requeued"], sums["done"] + sums["cancelled"] + sums["dead"]
    assert came == live + went, (sums, states)
    assert counts.lost == 0, (sums, states)
    assert sums["dead"] == counts.dead + sums["requeued"] + sums["dropped"], (sums, states)


def _states(queue):
    """Count the records per state, from the raw data: independent of what the scripts make of it."""
    names, pipe = ids(queue), queue.redis.pipeline(transaction=False)
    for id in names:
        pipe.hget(queue.keys.job + id, "state").pttl(queue.keys.job + id).zscore(queue.keys.delayed, id)
    answers, states = pipe.execute(), Counter()
    for state, ttl, score in zip(*[iter(answers)] * 3, strict=True):
        waits = "scheduled" if score is not None else "ready"
        states["waits to be skipped" if state == b"cancelled" and ttl < 0 else (state or waits.encode()).decode()] += 1
    return states


def check_keys(redis):
    """Assert that every key is one that keys.py names, of the right type, and that every record has a reason to be."""
    for key in set(redis.scan_iter(count=1000)):
        prefix, _, rest = key.decode().partition("{")
        keys = Keys(rest.partition("}:")[0], prefix)
        if key.startswith(keys.job.encode()):
            _check_record(redis, keys, key)
            continue
        assert redis.type(key) == _type(redis, keys, key.decode()), key
        assert (redis.pttl(key) == -1) == (key != keys.leader.encode()), f"{key} would vanish, or a lead would last"


def _type(redis, keys, key):
    """Say of which type a key is that is no record."""
    kind = (redis.get(keys.store) or b"none").split()[0]
    if key.startswith(keys.schedule):
        assert redis.zscore(keys.schedules, key[len(keys.schedule) :]) is not None, f"{key} is in no index"
        return TYPES["schedule"]
    lists = map(keys.priority, PRIORITIES) if kind == b"lists" else [keys.ready]
    if key in {*lists, keys.alone}:
        return WAITING[kind]
    parts = [part for part in TYPES if getattr(keys, part) == key and (part != "leases" or kind != b"streams")]
    assert parts, f"{key} is none of the kit's keys"
    return TYPES[parts[0]]


def _check_record(redis, keys, key):
    pipe = redis.pipeline(transaction=False)
    pipe.type(key).hgetall(key).pttl(key).zscore(keys.dead, key[len(keys.job.encode()) :])
    kind, record, ttl, buried = pipe.execute()
    state = record.get(b"state")
    assert kind == TYPES["job"], key
    assert record.keys() >= {b"task", b"args", b"created", b"run_at"}, f"{key} is the ghost of a record: {record}"
    assert (state == b"dead") == (buried is not None), record
    assert ttl >= 0 or state != b"done", f"{key} is kept for ever: {record}"
    assert ttl < 0 or state in {b"done", b"cancelled"}, f"{key} would vanish: {record}"
