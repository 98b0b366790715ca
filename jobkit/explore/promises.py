"""Set-ups and promises that many explorations share."""

from __future__ import annotations

from collections import Counter
from typing import Any

from jobkit.connect.client import Client
from jobkit.explore.world import World


class jobs:  # noqa: N801 - it reads as a function: given=jobs(2)
    """A set-up: `n` jobs, j0, j1, ..., due since `n` ms and less, in the sorted set `key`."""

    def __init__(self, n: int, key: str = "delayed") -> None:
        self.ids = [f"j{at}" for at in range(n)]
        self.key = key

    def __call__(self, redis: Client) -> None:
        """Put them down."""
        now = redis.clock.now()
        redis.zadd(self.key, {job: now - len(self.ids) + at for at, job in enumerate(self.ids)})

    def __repr__(self) -> str:
        return f"jobs({len(self.ids)}, {self.key!r})"


def _runs(world: World) -> dict[str, list[str]]:
    """Who ran what: job -> the workers that had the effect `run JOB`, in order."""
    runs: dict[str, list[str]] = {job: [] for job in getattr(world.given, "ids", ())}
    for done in world.effects:
        if done.text.startswith("run "):
            runs.setdefault(done.text.removeprefix("run "), []).append(done.worker)
    return runs


def none_runs_twice(world: World) -> str | None:
    """No job has the effect `run JOB` twice."""
    for job, workers in _runs(world).items():
        if len(workers) > 1:
            return f"run {job} done {len(workers)} times (by {', '.join(workers)})"
    return None


def each_runs_once(world: World) -> str | None:
    """Each of the `jobs` has the effect `run JOB`, once.

    Which jobs there are it knows from `given=jobs(n)`, or any set-up that has `ids`.
    """
    lost = [job for job, workers in _runs(world).items() if not workers]
    if not _runs(world):
        return "nothing ran, and no job is known: given=jobs(n) names them, w.effect('run j0') runs one"
    return none_runs_twice(world) or (f"{', '.join(lost)} never ran" if lost else None)


class nothing_lost:  # noqa: N801 - it reads as a function: finally_=nothing_lost("delayed", "ready")
    """Each of the `jobs` has run, or still stands in one of the keys (lists, sets, sorted sets, streams)."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys
        self.__name__ = "nothing_is_lost"

    def __call__(self, world: World) -> str | None:
        """Look for them."""
        there = Counter(job for key in self.keys for job in _members(world.redis, key))
        for job, workers in _runs(world).items():
            if not workers and not there[job]:
                return f"{job} is lost: it never ran, and stands in none of {', '.join(self.keys)}"
        return None


def _members(redis: Any, key: str) -> list[str]:
    kind = redis.type(key)
    found: list[bytes] = []
    if kind == b"stream":
        found = [value for _, fields in redis.xrange(key) for value in fields.values()]
    elif kind == b"list":
        found = redis.lrange(key, 0, -1)
    elif kind == b"zset":
        found = redis.zrange(key, 0, -1)
    elif kind == b"set":
        found = list(redis.smembers(key))
    return [member.decode("utf-8", "replace") for member in found]
