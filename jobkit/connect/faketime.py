"""The fake server's time: the one module, with fakelua.py, that reaches into fakeredis (2.41).

fakeredis asks `time.time()` wherever a server would look at its clock: TIME (in Lua, too), expiry,
idle times and ids of streams. `install` gives its modules another `time`, whose `time()` is the
clock of the server that is running a command in this thread, and real time everywhere else. The
rest of the process keeps Python's own.

A few faults of the fake that the kit's scripts would meet are put right here, too. Its Lua is in
fakelua.py.
"""

from __future__ import annotations

import contextlib
import functools
import math
import queue
import sys
import threading
import time
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import redis
from fakeredis import FakeRedisConnection, FakeServer
from fakeredis._core import Database
from fakeredis._helpers import SimpleError
from fakeredis._msgs import COMMAND_IN_SCRIPT_MSG, LUA_COMMAND_ARG_MSG
from fakeredis._socket import FakeSocket

from jobkit.clock import Clock
from jobkit.connect import fakelua
from jobkit.connect.fakelua import KeptLua

VERSION = (7, 0)
"""The Redis that the fake is told to be."""
NOT_IN_SCRIPTS = {b"ACL", b"CLIENT"}
"""What a server refuses to a script, and fakeredis does not."""

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
    fakelua.install()
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


class ClockSocket(FakeSocket):
    """The server's end of a connection: runs each command by the server's clock."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.responses = queue.SimpleQueue()  # type: ignore[assignment]  # declared as a Queue, which takes longer

    def shutdown(self, how: Any) -> None:
        """Hang up, even while another thread is in the middle of a command: that one ends with an error, as ever."""
        with contextlib.suppress(ValueError):  # "generator already executing": it is the one that parses that command
            super().shutdown(how)

    def ask(self, words: list[bytes]) -> Any:
        """Run one command and return its reply, an error too, without the bytes that pass between client and server."""
        self._process_command(words)
        return self.responses.get_nowait()  # type: ignore[union-attr]

    def _process_command(self, fields: list[bytes]) -> None:
        before = getattr(_here, "clock", None)
        _here.clock = self._server.clock  # type: ignore[attr-defined]
        try:
            super()._process_command(fields)
        except AttributeError:
            if self._db is None:  # hung up meanwhile, see `shutdown`
                raise redis.ConnectionError("the connection was closed in the middle of a command") from None
            raise
        finally:
            _here.clock = before

    def _blocking(self, timeout: float | None, func: Any, shape: Any = None) -> Any:
        if self._server.calls is None:  # type: ignore[attr-defined]
            return super()._blocking(timeout, func, shape)
        found = func(True)  # noqa: FBT003 - explored, nobody waits: who would push?
        return found if shape is None else shape(found)

    def _get_server_runtime(self, server: Any) -> Any:
        if not hasattr(server, "_lua_runtime"):
            server._lua_runtime = kept = KeptLua(super()._get_server_runtime(server))  # noqa: SLF001
            server._lua_set_keys_argv = kept.set_keys_argv  # noqa: SLF001
        return server._lua_runtime  # noqa: SLF001

    def _lua_redis_call(self, _runtime: Any, expected_globals: set[Any], op: bytes, *args: Any) -> Any:
        if not isinstance(op, bytes):
            raise SimpleError(LUA_COMMAND_ARG_MSG)
        if op.upper() in NOT_IN_SCRIPTS:
            raise SimpleError(COMMAND_IN_SCRIPT_MSG)
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

    def keys(self, pattern: bytes) -> list[bytes]:
        """KEYS, in an order that does not tell which was there first."""
        return sorted(super().keys(pattern))

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
