"""The fake Redis: fakeredis in this process, on a clock that can be moved.

It needs no server and its time can be a VirtualClock, which makes it right for tests and for the
explorer. It is not a server. Against Redis 7.0.15, fakeredis 2.41 has

- no INFO, CONFIG GET, MEMORY, WAIT, OBJECT ENCODING, XINFO STREAM FULL, and no `expired` events
- no cmsgpack, bit, struct, redis.sha1hex or error tables in Lua, and other texts of script errors
- numbers where XPENDING's summary gives strings; a key that is gone in the very ms of its expiry
- a BLMOVE on an empty list that returns at once; over TCP, a client killed in BLPOP swallows the
  next push; EXEC passes after a watched key expired
- blocking commands that wait in real time, also on a VirtualClock

so crashes and blocking are shown on a real server, and every test of behaviour runs on both.
"""

from __future__ import annotations

import threading
from importlib.metadata import version

from jobkit.clock import Clock, Seconds, to_ms
from jobkit.connect.client import Client, QuietPool, make_client, options
from jobkit.connect.faketime import ClockConnection, ClockServer, install
from jobkit.connect.safety import ServerInfo


class MovableClock(Clock):
    """Real time plus what `advance` added: the clock of a fake that was given none."""

    can_advance = True

    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> int:
        """Return ms since the epoch, as far ahead as this clock was moved."""
        return super().now() + self._ahead

    def advance(self, seconds: Seconds) -> None:
        """Move forward."""
        self._ahead += to_ms(seconds, "advance")


class FakeRedis:
    """A fake server of its own: `FakeRedis(clock).client()`. Its time is the clock's."""

    def __init__(self, clock: Clock | None = None) -> None:
        install()
        self.clock = clock or MovableClock()
        self.server = ClockServer(self.clock)
        self.info = ServerInfo("fake", version("fakeredis"), "fakeredis", ours=True)

    def client(self, *, prefix: str = "") -> Client:
        """Return a new client; all clients of one fake share its clock."""
        pool = QuietPool(connection_class=ClockConnection, server=self.server, **options(fake=True))
        return make_client(pool, self.info, clock=self.clock, prefix=prefix)


_shared: list[FakeRedis] = []
_lock = threading.Lock()


def shared_fake() -> FakeRedis:
    """The one fake of this process that `connect` uses where no clock is given."""
    with _lock:
        if not _shared:
            _shared.append(FakeRedis())
        return _shared[0]
