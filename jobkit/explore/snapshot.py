"""What stands on a server, in words as short as a table needs, and what a step changed."""

from __future__ import annotations

from typing import Any

from jobkit.connect.client import Client
from jobkit.explore.trace import Change

Held = str | dict[str, str] | tuple[tuple[str, str], ...]
"""What a key holds; of a hash, by field; of a sorted set, members with scores, the lowest first."""


def snapshot(client: Client) -> dict[str, Held]:
    """Return each key and what it holds: a string as it is, [list or stream], {set or sorted set}, a dict of fields."""
    redis: Any = client  # its types leave open whether replies are decoded
    return {_text(key): _value(redis, key) for key in sorted(redis.scan_iter(count=1000))}


def changes(before: dict[str, Held], after: dict[str, Held]) -> tuple[Change, ...]:
    """Return what is different, by key; of a hash, the fields that are; of a sorted set, scores that are, too."""
    found = []
    for key in sorted(before.keys() | after.keys()):
        old, new = before.get(key, ""), after.get(key, "")
        if old != new:
            found.append(Change(key, _shown(old, new), _shown(new, old)))
    return tuple(found)


def _shown(held: Held, other: Held) -> str:
    if isinstance(held, str):
        return held
    if isinstance(held, tuple):
        scores = dict(other) if isinstance(other, tuple) else {}
        members = (name if scores.get(name, score) == score else f"{name}={score}" for name, score in held)
        return "{" + ", ".join(members) + "}"
    others = other if isinstance(other, dict) else {}
    return "{" + ", ".join(f"{field}={value}" for field, value in held.items() if others.get(field) != value) + "}"


def _value(redis: Any, key: bytes) -> Held:
    kind = redis.type(key)
    read: dict[bytes, Any] = {
        b"string": lambda: _text(redis.get(key)) or '""',
        b"list": lambda: "[" + ", ".join(map(_text, redis.lrange(key, 0, -1))) + "]",
        b"set": lambda: "{" + ", ".join(sorted(map(_text, redis.smembers(key)))) + "}",
        b"zset": lambda: tuple((_text(one), _score(score)) for one, score in redis.zrange(key, 0, -1, withscores=True)),
        b"hash": lambda: {_text(field): _text(value) for field, value in sorted(redis.hgetall(key).items())},
        b"stream": lambda: _stream(redis, key),
    }
    held: Held = read[kind]() if kind in read else f"a {_text(kind)}"
    return held


def _stream(redis: Any, key: bytes) -> str:
    entries = ", ".join(" ".join(map(_text, fields.values())) for _, fields in redis.xrange(key))
    pending = sum(group["pending"] for group in redis.xinfo_groups(key))
    return f"[{entries}]" + (f" {pending} pending" if pending else "")


def _score(score: float) -> str:
    return str(int(score)) if score.is_integer() else str(score)


def _text(value: object) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
