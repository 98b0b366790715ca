"""What stands on a server, in words as short as a table needs, and what a step changed."""

from __future__ import annotations

from typing import Any

from jobkit.connect.client import Client
from jobkit.explore.trace import Change


def snapshot(client: Client) -> dict[str, str]:
    """Return each key and what it holds: a string as it is, [list], {set}, {field=value}, {member: score}."""
    redis: Any = client  # its types leave open whether replies are decoded
    return {_text(key): _value(redis, key) for key in sorted(redis.scan_iter(count=1000))}


def changes(before: dict[str, str], after: dict[str, str]) -> tuple[Change, ...]:
    """Return what is different, by key."""
    keys = sorted(before.keys() | after.keys())
    return tuple(
        Change(key, before.get(key, ""), after.get(key, "")) for key in keys if before.get(key) != after.get(key)
    )


def _value(redis: Any, key: bytes) -> str:
    kind = redis.type(key)
    read: dict[bytes, Any] = {
        b"string": lambda: _text(redis.get(key)),
        b"list": lambda: "[" + ", ".join(map(_text, redis.lrange(key, 0, -1))) + "]",
        b"set": lambda: "{" + ", ".join(sorted(map(_text, redis.smembers(key)))) + "}",
        b"zset": lambda: "{" + ", ".join(_text(member) for member in redis.zrange(key, 0, -1)) + "}",
        b"hash": lambda: "{" + ", ".join(sorted(f"{_text(f)}={_text(v)}" for f, v in redis.hgetall(key).items())) + "}",
        b"stream": lambda: _stream(redis, key),
    }
    return str(read[kind]()) if kind in read else f"a {_text(kind)}"


def _stream(redis: Any, key: bytes) -> str:
    entries = ", ".join(" ".join(map(_text, fields.values())) for _, fields in redis.xrange(key))
    pending = sum(group["pending"] for group in redis.xinfo_groups(key))
    return f"[{entries}]" + (f" {pending} pending" if pending else "")


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
