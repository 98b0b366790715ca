"""The clock of a real server that the kit started: its time can be moved forward, too.

A real server's TIME cannot be set, so `advance` does the opposite: everything that is stored grows
older. What a script then sees is the same as if time had passed.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import redis
from redis.crc import key_slot

from jobkit.clock import Clock, Seconds, to_ms
from jobkit.keys import TIME_FIELDS, TIMED_ZSETS, Keys

PAGE = 500
"""How many keys, members or entries one script call touches."""
RECORD = Keys("q").job.removeprefix("{q")
"""What every job record's name contains: "}:job:"."""
CALENDAR = Keys("q").schedule.removeprefix("{q")
"""The same of the record of a recurring schedule."""
KIT = re.compile(r"^[^{}]*\{[^{}]*\}:(?P<part>\w+)$")
"""The name of a key of the kit that is no job record."""
MOMENTS = (1e12, 1e13)
"""Scores between these are taken for ms since the epoch: September 2001 to November 2286."""


class LiveClock(Clock):
    """Real time, on a private server whose contents can be made older.

    `advance(seconds)` moves back the scores of the kit's time-ordered sets, the moments in its job
    records, and every other sorted set whose scores all look like ms since the epoch; it shortens
    expiries (a key whose time is over is gone) and ages the pending entries of all streams, whose
    owners, delivery counts and order stay. The calendar of a recurring schedule is moved on. All
    clients of the server see it. `sleep` really sleeps.

    What it can't reach: the ids of stream entries, and how long a consumer has been idle (XINFO
    CONSUMERS), which ageing resets. What others write while it runs counts as before or as after.
    """

    can_advance = True

    def __init__(self, servers: Callable[[], list[redis.Redis]]) -> None:
        self._servers = servers
        """Clients that send everything once, since ageing twice would be wrong: of the server, or of each master."""
        self._lock = threading.Lock()

    def advance(self, seconds: Seconds) -> None:
        """Make everything on the server older by `seconds`, in bounded script calls."""
        dt = to_ms(seconds, "advance")
        if dt == 0:
            return
        with self._lock:
            servers = self._servers()
            for server in servers:
                _Ageing(server, dt).all_keys(apart=len(servers) > 1)


class _Ageing:
    """Makes all that one server holds older by `dt` ms."""

    def __init__(self, client: redis.Redis, dt: int) -> None:
        self._redis, self._dt = client, dt

    def all_keys(self, *, apart: bool) -> None:
        """Age every key, some in one call; `apart`: those of one slot, as a cluster wants it."""
        names = set(self._redis.scan_iter(count=1000))  # SCAN may tell a key twice
        together: dict[int, list[bytes]] = {}
        for name in names:
            together.setdefault(key_slot(name) if apart else 0, []).append(name)
        for group in together.values():
            for start in range(0, len(group), PAGE):
                self._age(group[start : start + PAGE])

    def _age(self, names: list[bytes]) -> None:
        dt = self._dt
        others = self._run("age_keys", names, dt, RECORD, CALENDAR, *TIME_FIELDS)
        for name, kind in zip(others[::2], others[1::2], strict=True):
            if kind == b"stream":
                for group in self._groups(name):
                    self._turn_pages("age_pending", name, group, dt, first="-")
            elif self._holds_moments(name):
                self._turn_pages("age_zset", name, dt, first="-inf")

    def _groups(self, stream: bytes) -> list[bytes]:
        groups: Any = self._redis.xinfo_groups(stream)
        return [group["name"] for group in groups]

    def _holds_moments(self, name: bytes) -> bool:
        kit = KIT.match(name.decode("utf-8", "replace"))
        if kit:
            return kit["part"] in TIMED_ZSETS
        ends: Any = [self._redis.zrange(name, at, at, withscores=True) for at in (0, -1)]
        return all(MOMENTS[0] < score < MOMENTS[1] for page in ends for _, score in page)

    def _turn_pages(self, script: str, name: bytes, *args: Any, first: str) -> None:
        last: bytes | None = self._run(script, [name], *args, first, PAGE)
        while last is not None:
            last = self._run(script, [name], *args, b"(" + last, PAGE)

    def _run(self, script: str, keys: list[bytes], *args: Any) -> Any:
        return self._redis.register_script(_source(script))(keys=keys, args=args)


@functools.cache
def _source(name: str) -> str:
    return (files("jobkit.connect") / "lua" / f"{name}.lua").read_text("utf-8")
