"""A queue's whole state in a form that a test can write down."""

from collections import Counter

from jobkit.errors import UnknownJob
from jobkit.keys import Keys

TYPES = {
    "delayed": b"zset",
    "ready": b"stream",
    "alone": b"stream",
    "dead": b"zset",
    "totals": b"hash",
    "tokens": b"string",
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
    counts, sums = queue.counts(), totals(queue)
    states = Counter(queue.get(id).state.value for id in ids(queue))
    waits_for_a_claim = sum("cancelled" in said and "expires" not in said for said in rows(queue).values())
    assert (counts.scheduled, counts.running, counts.dead) == (states["scheduled"], states["running"], states["dead"])
    assert counts.ready == states["ready"] + waits_for_a_claim
    live = states["scheduled"] + states["ready"] + states["running"]
    came, went = sums["submitted"] + sums["requeued"], sums["done"] + sums["cancelled"] + sums["dead"]
    assert came == live + went, (sums, states)
    assert sums["dead"] == counts.dead + sums["requeued"] + sums["dropped"], (sums, states)


def check_keys(redis):
    """Assert that every key is one that keys.py names, of the right type, and that every record has a reason to be."""
    for key in redis.scan_iter(count=1000):
        text = key.decode()
        prefix, _, rest = text.partition("{")
        name, _, part = rest.partition("}:")
        known = {full: attribute for attribute, full in vars(Keys(name, prefix)).items() if attribute in TYPES}
        part = "job" if part.startswith("job:") else known.get(text)
        assert part, f"{text!r} is none of the kit's keys"
        assert redis.type(key) == TYPES[part], text
        if part == "job":
            _check_record(redis, Keys(name, prefix), key)
        else:
            assert redis.pttl(key) == -1, f"{text!r} would vanish"


def _check_record(redis, keys, key):
    record, id, expires = redis.hgetall(key), key[len(keys.job.encode()) :], redis.pttl(key) >= 0
    assert record.keys() >= {b"task", b"args", b"created", b"run_at"}, f"{key} is the ghost of a record: {record}"
    assert expires == (redis.zscore(keys.dead, id) is None) if record.get(b"state") == b"dead" else True, record
    assert record.get(b"state") != b"done" or expires, record
    assert not expires or record.get(b"state") in {b"done", b"cancelled"}, record
