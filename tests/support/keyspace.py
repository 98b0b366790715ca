"""Everything that a server holds, as plain values to compare, and how much of it there is."""


def dump(redis):
    """Return every key with its whole content: equal dumps mean that nothing was written.

    Left out is what time alone changes: how long a lease still is, when exactly a key expires, and on a
    real server by how much starts were late.
    """
    return {key: (_content(redis, key), redis.pttl(key) >= 0) for key in sorted(redis.scan_iter(count=1000))}


def _content(redis, key):
    kind = redis.type(key)
    if kind == b"string":
        return redis.get(key)
    if kind == b"hash" and key.endswith(b":lateness") and redis.server.kind != "fake":
        return sum(int(n) for bound, n in redis.hgetall(key).items() if bound != b"sum")
    if kind == b"hash":
        return dict(sorted(redis.hgetall(key).items()))
    if kind == b"zset" and key.endswith(b":leases"):
        return redis.zrange(key, 0, -1)
    if kind == b"zset":
        return redis.zrange(key, 0, -1, withscores=True)
    if kind == b"list":
        return redis.lrange(key, 0, -1)
    if kind == b"stream":
        return redis.xrange(key), [_group(redis, key, group) for group in redis.xinfo_groups(key)]
    raise AssertionError(f"{key} is a {kind}: the kit makes no such key")


def _group(redis, key, group):
    pending = redis.xpending_range(key, group["name"], "-", "+", 100_000)
    held = [(entry["message_id"], entry["consumer"], entry["times_delivered"]) for entry in pending]
    return group["name"], group["last-delivered-id"], held


def weight(redis):
    """Return how many keys there are, and their bytes: by MEMORY USAGE where there is one, else of names and values."""
    keys = list(redis.scan_iter(count=1000))
    if redis.server.kind == "fake":
        return len(keys), sum(len(key) + len(repr(_content(redis, key))) for key in keys)
    return len(keys), sum(redis.memory_usage(key, samples=0) for key in keys)


def server_ms(redis):
    """Return the server's time in ms."""
    seconds, microseconds = redis.time()
    return seconds * 1000 + microseconds // 1000
