"""The server under exploration: a fake of the search's own, or a real one that the kit started.

It is emptied before each schedule. Scripts it keeps, as a server does: so loading one is no step,
and a schedule has the same steps whether or not it is the first to use a script.
"""

from __future__ import annotations

import contextlib
import hashlib
from random import Random
from typing import Any

from redis import ConnectionPool
from redis.exceptions import ResponseError

from jobkit.clock import VirtualClock, new_rng
from jobkit.connect.client import Client, another_pool
from jobkit.connect.fake import FakeRedis
from jobkit.connect.faketime import ClockConnection
from jobkit.connect.safety import require_ours, server_of
from jobkit.errors import ExploreError
from jobkit.explore.blocking import blocks
from jobkit.explore.calls import Args, Call
from jobkit.explore.commands import EVERYTHING, NOTHING, Footprint, footprint
from jobkit.explore.disguise import drawing_by
from jobkit.explore.spelling import words
from jobkit.explore.watchdog import Endless

_STATEFUL = frozenset({b"WATCH", b"MULTI", b"SELECT", b"CLIENT", b"HELLO", b"AUTH", b"SUBSCRIBE", b"PSUBSCRIBE"})
"""After these a connection is no longer like new; after the next ones it is again."""
_RENEWING = frozenset({b"EXEC", b"DISCARD", b"UNWATCH"})
_SCRIPTS = frozenset({b"EVAL", b"EVALSHA"})
_LEARNED = frozenset({b"EVAL", b"SCRIPT"})


class _Clock(VirtualClock):
    def restart(self) -> None:
        """Go back to the start, and forget all timers."""
        super().__init__()


class Ground:
    """Runs the calls of many workers on one server, each on connections of its own.

    `redis` is a client of a real server that the kit started; without it a fake is made, whose time
    stands still but for `advance`.
    """

    def __init__(self, redis: Client | None = None) -> None:
        self._clock: _Clock | None = None
        if redis is None:
            self._clock = _Clock()
            redis = FakeRedis(self._clock).client()
        else:
            require_ours(redis, "explore")
            if server_of(redis).kind == "fake":
                raise ExploreError("explore has a fake of its own: give a real server that jobkit started, or none")
        self.client = redis
        """Commands of this client are nobody's step: for the set-up, and for promises."""
        self.live = self._clock is None
        self.passed = 0
        """How far time was moved since the start, in ms. The little that a real server takes by itself is left out."""
        self._server: Any = redis.connection_pool.connection_kwargs.get("server")
        self._pool = another_pool(redis.connection_pool, max_connections=1 << 30)
        self._own = _Connection(self._pool)
        self._used: dict[tuple[str, int], _Connection] = {}
        self._chance: dict[str, Random] = {}
        self._idle: list[_Connection] = []
        self._sources: dict[bytes, bytes] = {}
        self.names: dict[str, str] = {}
        """sha1 of each script that was seen -> its name: its first line, where that is a comment."""

    def reset(self) -> None:
        """Empty the server, and start its clock anew."""
        for connection in self._used.values():
            if connection.like_new:
                self._idle.append(connection)
            else:
                connection.close()
        self._used.clear()
        self._chance.clear()
        emptied = self._own.run((b"FLUSHALL",))
        if isinstance(emptied, Exception):
            raise ExploreError(f"the server cannot be emptied: {emptied}")
        self.passed = 0
        if self._clock is not None:
            self._clock.restart()

    def close(self) -> None:
        """Close all connections of workers."""
        for connection in [*self._used.values(), *self._idle, self._own]:
            connection.close()
        self._used.clear()
        self._idle.clear()

    def now(self) -> int:
        """Return ms since the epoch."""
        return self.client.clock.now()

    def advance(self, ms: int) -> None:
        """Let time pass on the server. A real one's clock stands: what it holds grows older instead."""
        self.passed += ms
        if self._clock is not None:
            self._clock.advance(ms / 1000)
        else:
            self.client.clock.advance(ms / 1000)

    def is_silent(self, call: Call) -> bool:
        """Whether a call is no step: it loads a script, or learns that the server does not know one."""
        if len(call.commands) > 1 or len(call.commands[0]) == 1:
            return False
        name, word = (part.upper() for part in call.commands[0][:2])
        if name == b"SCRIPT":
            return word in {b"LOAD", b"EXISTS"}
        if name == b"EVALSHA":
            sha = word.lower()
            if sha not in self._sources and self.client.script_exists(sha.decode("latin-1"))[0]:
                known = getattr(self._server, "script_cache", {})  # of the set-up's; a real server shows none
                self._keep(sha.decode(), known.get(sha, b""))
            return sha not in self._sources
        return False

    def run(self, worker: str, call: Call) -> tuple[tuple[Any, ...], Footprint]:
        """Run a call; return its replies (errors are replies) and what it read and wrote."""
        connection = self._connection(worker, call.connection)
        inner: list[Any] = []
        if self._server is not None:
            self._server.calls = inner  # the fake notes here what a script calls
        try:
            with drawing_by(lambda: self._rng(worker)):
                replies = tuple([connection.run(args) for args in call.commands])
        finally:
            if self._server is not None:
                self._server.calls = None
        return replies, self._seen(call.commands, inner, connection)

    def drop(self, worker: str) -> None:
        """Close a dead worker's connections, as its operating system would."""
        for key in [key for key in self._used if key[0] == worker]:
            self._used.pop(key).close()

    def _rng(self, worker: str) -> Random:
        if worker not in self._chance:
            self._chance[worker] = new_rng(0)
        return self._chance[worker]

    def _connection(self, worker: str, number: int) -> _Connection:
        connection = self._used.get((worker, number))
        if connection is None:
            connection = self._idle.pop() if self._idle else _Connection(self._pool)
            self._used[worker, number] = connection
        return connection

    def ahead(self, worker: str, call: Call) -> Footprint | None:
        """Return what a call will read and write; None if its words do not tell: a script, or it blocks."""
        if not self.live and any(args[0].upper() in _SCRIPTS for args in call.commands):
            return None
        if len(call.commands) == 1 and blocks(call.commands[0]):
            return None
        return self._touched(call.commands, self._connection(worker, call.connection))

    def _touched(self, commands: tuple[Args, ...], connection: _Connection) -> Footprint:
        """Return what commands touch by their words. What a script does is known on the fake alone, when it has run."""
        seen = NOTHING
        block = _is_block(commands)
        for args in commands[1:-1] if block else commands:
            if args[0].upper() not in _SCRIPTS:
                seen |= footprint(args)
            elif self.live:
                seen = EVERYTHING
        return seen | connection.watched if block else seen  # what EXEC does depends on the watched keys

    def _seen(self, commands: tuple[Args, ...], inner: list[Any], connection: _Connection) -> Footprint:
        seen = self._touched(commands, connection)
        for call in inner:
            seen |= footprint(call)
        for args in commands:
            name = args[0].upper()
            if name in _LEARNED:
                self._learn(name, args)
            elif name == b"WATCH":
                connection.watched |= footprint(args)
            elif name in _RENEWING:
                connection.watched = NOTHING
        return seen

    def _learn(self, name: bytes, args: Args) -> None:
        what = args[1].upper() if len(args) > 1 else b""
        if name == b"SCRIPT" and what == b"FLUSH":
            self._sources.clear()
        for source in args[2:3] if name == b"SCRIPT" and what == b"LOAD" else args[1:2] if name == b"EVAL" else ():
            self._keep(hashlib.sha1(source, usedforsecurity=False).hexdigest(), source)

    def _keep(self, sha: str, source: bytes) -> None:
        self._sources[sha.encode()] = source
        first = source.lstrip().split(b"\n", 1)[0].decode("utf-8", "replace")
        if first.startswith("--"):
            self.names[sha] = first.lstrip("-").strip()


def _is_block(commands: tuple[Args, ...]) -> bool:
    return len(commands) > 1 and commands[0] == (b"MULTI",)


class _Connection:
    """One connection of one worker, as the server sees it."""

    def __init__(self, pool: ConnectionPool) -> None:
        wire: Any = pool.make_connection()
        wire.connect()
        self._wire = wire
        self._ask = getattr(wire.get_socket(), "ask", None) if isinstance(wire, ClockConnection) else None
        self.like_new, self.watched = True, NOTHING

    def run(self, args: Args) -> Any:
        name = args[0].upper()
        if name in _STATEFUL:
            self.like_new = False
        elif name in _RENEWING:
            self.like_new = True
        try:
            if self._ask is not None:
                return self._ask(list(args))
            self._wire.send_command(*args)
            return self._wire.read_response()
        except ResponseError as error:
            return error
        except Endless:
            raise ExploreError(f"the server does not come to an end with {words(args)}") from None
        except Exception as error:
            what = f"{type(error).__name__}: {error}"[:200]
            raise ExploreError(f"the server did not answer {words(args)}: {what}") from error

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._wire.disconnect()
