"""The fake server's time: the one module that reaches into fakeredis (2.41).

fakeredis asks `time.time()` wherever a server would look at its clock: TIME (in Lua, too), expiry,
idle times and ids of streams. `install` gives its modules another `time`, whose `time()` is the
clock of the server that is running a command in this thread, and real time everywhere else. The
rest of the process keeps Python's own.

A few faults of the fake that the kit's scripts would meet are put right here, too, and compiled Lua
is kept, which a real server does and the fake does not.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fakeredis import FakeRedisConnection, FakeServer
from fakeredis._core import Database
from fakeredis._helpers import SimpleError
from fakeredis._socket import FakeSocket

from jobkit.clock import Clock

VERSION = (7, 0)
"""The Redis that the fake is told to be."""
COLLECT_EVERY = 200
"""Script calls between two collections of Lua's garbage; fakeredis collects after every one."""

_here = threading.local()


def _time() -> float:
    clock: Clock | None = getattr(_here, "clock", None)
    return time.time() if clock is None else _seconds(clock.now())


def _seconds(ms: int) -> float:
    """The float of that moment from which `int(1000 * t)` gets the ms back; rounding may lose one."""
    seconds = ms / 1000
    return seconds if int(seconds * 1000) == ms else math.nextafter(seconds, math.inf)


@functools.cache
def install() -> None:
    """Give the modules of fakeredis a `time` that knows of servers with a clock. Once is enough."""
    patched = SimpleNamespace(**vars(time))
    patched.time = _time
    for name, module in list(sys.modules.items()):
        if name.startswith("fakeredis.") and getattr(module, "time", None) is time:
            module.time = patched  # type: ignore[attr-defined]


class ClockDatabase(Database):
    """Its keys are gone at the very millisecond when their time is over, as `advance` counts.

    A real server keeps them for that one ms, and floating point would have it either way.
    """

    def expired(self, item: Any) -> bool:
        """Whether the item's time is over."""
        return item.expireat is not None and item.expireat < self.time + 0.0005

    def _remove_expired(self) -> None:
        due, self.time = self.time, self.time + 0.0005
        try:
            super()._remove_expired()
        finally:
            self.time = due


class ClockServer(FakeServer):
    """A fake server whose time is the given clock's."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(version=VERSION)
        # Reentrant: garbage may be collected in mid-command, and a pipeline that is collected while
        # it watches sends UNWATCH from the very thread that holds the lock.
        self.lock = threading.RLock()  # type: ignore[assignment]  # declared as a Lock
        self.clock = clock
        self.lastsave = clock.now() // 1000
        self.calls: list[tuple[Any, ...]] | None = None
        """Where it is noted what scripts call, if somebody wants to know: the explorer does."""
        self.dbs = defaultdict(lambda: ClockDatabase(self.lock))


class KeptLua:
    """A Lua runtime that compiles a script once; everything else it leaves to the real one."""

    def __init__(self, runtime: Any) -> None:
        self._runtime = runtime
        self.inside = SimpleNamespace(table_from=runtime.table_from, globals=dict)
        """What `redis.call` gets: no global names to look through each time, once after the script is enough."""
        self._compiled: dict[Any, Callable[[], Any]] = {}
        self._calls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def execute(self, source: bytes | str) -> Any:
        """Run a script, compiled now or earlier."""
        if source == "collectgarbage()":
            self._calls += 1
            return self._runtime.execute(source) if self._calls % COLLECT_EVERY == 0 else None
        call = self._compiled.get(source)
        if call is None:
            call = self._compiled[source] = self._runtime.compile(source)
        return call()


class ClockSocket(FakeSocket):
    """The server's end of a connection: runs each command by the server's clock."""

    def _process_command(self, fields: list[bytes]) -> None:
        before = getattr(_here, "clock", None)
        _here.clock = self._server.clock  # type: ignore[attr-defined]
        try:
            super()._process_command(fields)
        finally:
            _here.clock = before

    def _get_server_runtime(self, server: Any) -> Any:
        if not hasattr(server, "_lua_runtime"):
            server._lua_runtime = KeptLua(super()._get_server_runtime(server))  # noqa: SLF001
        return server._lua_runtime  # noqa: SLF001

    def _lua_redis_call(self, _runtime: Any, expected_globals: set[Any], op: bytes, *args: Any) -> Any:
        kept: Any = self._get_server_runtime(self._server)
        if self._server.calls is not None:  # type: ignore[attr-defined]
            self._server.calls.append((op, *args))  # type: ignore[attr-defined]
        return super()._lua_redis_call(kept.inside, expected_globals, op, *args)

    def _lua_redis_pcall(self, lua_runtime: Any, expected_globals: set[Any], op: bytes, *args: Any) -> Any:
        """`redis.pcall`, whose `err` is text that Lua can search; the fake's own is a Python object."""
        try:
            return self._lua_redis_call(lua_runtime, expected_globals, op, *args)
        except Exception as error:  # noqa: BLE001 - that is what pcall is for
            text = str(getattr(error, "value", error)).replace("ERR BUSYGROUP", "BUSYGROUP", 1)
            return lua_runtime.table_from({b"err": text.encode()})

    def xreadgroup(self, group_const: bytes, group_name: bytes, consumer_name: bytes, *args: bytes) -> Any:
        """XREADGROUP, which says NOGROUP also when the stream is missing."""
        try:
            return super().xreadgroup(group_const, group_name, consumer_name, *args)
        except SimpleError as error:
            if "requires the key to exist" not in error.value:
                raise
            raise SimpleError("NOGROUP No such key or consumer group in XREADGROUP with GROUP option") from None

    def psetex(self, key: Any, ms: int, value: bytes) -> Any:
        """PSETEX; the fake's own cuts the moment of expiry down to whole seconds."""
        answer = super().psetex(key, ms, value)
        key.expireat = self._db.time + ms / 1000
        return answer

    def setex(self, key: Any, seconds: int, value: bytes) -> Any:
        """SETEX, likewise."""
        answer = super().setex(key, seconds, value)
        key.expireat = self._db.time + seconds
        return answer


class ClockConnection(FakeRedisConnection):
    """A connection to a ClockServer."""

    def _connect(self) -> FakeSocket:
        if self._server is None or not self._server.connected:
            return super()._connect()  # raises
        return ClockSocket(
            self._server,
            client_class=self._client_class,
            db=self.db,
            lua_modules=self._lua_modules,
            client_info=self._client_info,
        )
