"""What tests know of the ready stores: their keys, and how a hand puts an id in, finds it, and takes all away."""

from collections import Counter

from jobkit.keys import PRIORITIES
from jobkit.ready import Leases, Lists, Streams

STORES = [Streams, Lists, Leases]
"""Every behaviour is tested with each of them."""


def structures(queue):
    """Return the keys of a queue's ready store: what waits, and what runs, stands in them."""
    keys = queue.keys
    lists = [*map(keys.priority, PRIORITIES)] if queue.store.name == "lists" else [keys.ready]
    return [*lists, keys.alone] + ([] if queue.store.name == "streams" else [keys.leases])


def lose(queue):
    """Delete the whole ready store."""
    queue.redis.delete(*structures(queue))
    queue.redis.clock.advance(0.001)  # a stream made anew in the same ms would name its entries as before


def put(client, queue, id):
    """Make a job ready by hand, in a command of its own, as a lesson's `promote` does."""
    keys = queue.keys
    if queue.store.name == "streams":
        client.xadd(keys.ready, {"id": id})
    else:
        client.rpush(keys.priority(0) if queue.store.name == "lists" else keys.ready, id)


def pop_newest(client, queue, limit):
    """Take the newest ready jobs by hand; returns their ids."""
    keys = queue.keys
    if queue.store.name == "streams":
        entries = client.xrevrange(keys.ready, count=limit)
        for entry, _ in entries:
            client.xdel(keys.ready, entry)
        return [fields[b"id"] for _, fields in entries]
    return client.rpop(keys.priority(0) if queue.store.name == "lists" else keys.ready, limit) or []


def places(queue):
    """Count where each id stands in the ready store: waiting, or held by somebody."""
    found = Counter()
    for key in structures(queue):
        kind = queue.redis.type(key)
        if kind == b"stream":
            found += Counter(fields[b"id"] for _, fields in queue.redis.xrange(key))
        elif kind == b"list":
            found += Counter(queue.redis.lrange(key, 0, -1))
        elif kind == b"zset":
            found += Counter(queue.redis.zrange(key, 0, -1))
    return found


def remove(queue, ids):
    """Take some ids out of the ready store, wherever they stand in it."""
    gone = {id.encode() for id in ids}
    for key in structures(queue):
        kind = queue.redis.type(key)
        if kind == b"stream":
            entries = [entry for entry, fields in queue.redis.xrange(key) if fields[b"id"] in gone]
            queue.redis.xack(key, "workers", *entries)
            queue.redis.xdel(key, *entries)
        elif kind == b"list":
            for id in gone:
                queue.redis.lrem(key, 0, id)
        elif kind == b"zset":
            queue.redis.zrem(key, *gone)


def forget_groups(queue):
    """Delete the consumer groups of the streams: nobody knows any more who holds what."""
    for stream in (queue.keys.ready, queue.keys.alone):
        if queue.redis.exists(stream):
            for group in queue.redis.xinfo_groups(stream):
                queue.redis.xgroup_destroy(stream, group["name"])


def forget(queue, what):
    """Delete the whole ready store, or only what it knows of who holds what."""
    if what == "all":
        lose(queue)
    elif queue.store.name == "streams":
        forget_groups(queue)
    else:
        queue.redis.delete(queue.keys.leases)


def end_the_leases(queue):
    """Make every running job late, as if its worker had been paused for longer than a lease."""
    redis, keys = queue.redis, queue.keys
    if queue.store.name == "streams":
        entries = [entry for entry, _ in redis.xrange(keys.ready)]
        redis.xclaim(keys.ready, "workers", "x", 0, entries, idle=queue.lease_ms + 1000)
    elif held := redis.zrange(keys.leases, 0, -1):
        redis.zadd(keys.leases, dict.fromkeys(held, 0))
