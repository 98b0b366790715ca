"""A throw-away Redis of one's own, which ends with the process that started it.

It listens on a Unix socket in a folder that only this user may enter; where that cannot be (too
long a path, a file system without sockets), on loopback with a random password. It keeps nothing
on disk unless asked to. Its guard (guard.py) ends it and removes the folder when the owner closes
it, exits, or is killed in whatever way. A child made by os.fork may use it, and does not keep it
alive.
"""

from __future__ import annotations

import atexit
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobkit.clock import Clock
from jobkit.connect.client import Client, QuietPool, make_client, options
from jobkit.connect.liveclock import LiveClock
from jobkit.connect.safety import ServerInfo, what_it_is
from jobkit.connect.servers import Found, usable_servers, why_none
from jobkit.errors import ConfigError, ServerUnavailable

GUARD = Path(__file__).with_name("guard.py")
PATIENCE = 10.0
"""Seconds that a server may take to answer after its start, and the guard to end it; 0.05 are usual."""
GAVE_UP = re.compile("opening unix socket|failed listening|fatal", re.IGNORECASE)
"""What a server's last words have in them, from 6.2 to 8, if it can't listen or can't read its settings."""
LONGEST_SOCKET_PATH = 100
"""Bytes. Linux takes 107, macOS 103."""
KEEPS = ['save ""', "maxmemory-policy noeviction", "loglevel warning"]


class PrivateServer:
    """A running Redis of this process's own: `with PrivateServer() as server: server.client()`.

    `program` is one of `find_servers()`, by default the first that is usable. `appendonly=True`
    writes every command to disk before it is answered, so that `restart` brings all of it back;
    without it, a restart begins empty. `over` is "unix", "loopback", or None for what can be had here.
    `settings` are further lines of its configuration. Raises ServerUnavailable where there is no
    usable server, or it does not answer.
    """

    arguments: tuple[str, ...] = ("-",)
    """Of the program: its settings are its standard input."""

    def __init__(
        self,
        program: Found | None = None,
        *,
        appendonly: bool = False,
        over: str | None = None,
        settings: Iterable[str] = (),
    ) -> None:
        self._pid = 0
        program = program or best_server()
        conf = [*KEEPS, f"appendonly {'yes' if appendonly else 'no'}", "appendfsync always", *settings]
        problem = ServerUnavailable("no folder for temporary files has a path short enough for a Unix socket")
        for folder, unix in _places(over):
            try:
                told = self._start(program, folder, conf, unix=unix)
                break
            except ServerUnavailable as error:  # such as a file system without sockets: try the next place
                problem = error
        else:
            raise problem
        product, version = what_it_is(told)
        self.info = ServerInfo("private", version, program.origin, ours=True, product=product, address=self._address)
        self.clock = LiveClock(lambda: [self._direct])

    def client(self, *, prefix: str = "") -> Client:
        """Return a new client; all clients of one server share its clock."""
        pool = QuietPool(**options(), **self._reach)
        return make_client(pool, self.info, clock=self.clock, prefix=prefix)

    @property
    def pid(self) -> int:
        """The server's own process: its guard is another one."""
        return self._pid

    def answers(self) -> bool:
        """Whether the server is there."""
        try:
            return bool(self._direct.ping())
        except redis.RedisError:
            return False

    def restart(self) -> None:
        """Kill the server (SIGKILL) and start it again on what it has on disk, as after a crash."""
        os.write(self._pipe, b"r")
        self._pid = int(self._answer(but_not=self._pid)["process_id"])

    def close(self) -> None:
        """End the server and remove its folder; closing twice does nothing."""
        if self not in _alive:
            return
        _alive.discard(self)
        self._direct.close()
        os.close(self._pipe)
        self._guard.wait(PATIENCE)

    def send_signal(self, number: int) -> None:
        """Send the server a signal: SIGKILL (it stays dead until `restart`), SIGSTOP or SIGCONT."""
        os.kill(self._pid, number)  # the guard waits for it at its own end only, so the number is not used anew

    def disown(self) -> None:
        """In a forked child: stop holding the server. It goes on as long as the parent does."""
        os.close(self._pipe)
        self._guard.returncode = 0  # it is the parent's to wait for

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<jobkit private server>"

    def _start(self, program: Found, folder: Path, conf: list[str], *, unix: bool) -> dict[str, Any]:
        self.folder = folder
        where = self._on_a_socket() if unix else self._on_loopback()
        once = {"retry": Retry(NoBackoff(), 0), "retry_on_error": []}
        self._direct = redis.Redis.from_pool(QuietPool(**{**options(), **once, **self._reach}))
        self._guard = self._set_guard(program, [*where, *conf])
        _alive.add(self)
        try:
            told = self._answer()
        except BaseException:
            self.close()
            raise
        self._pid = int(told["process_id"])
        return told

    def _on_a_socket(self) -> list[str]:
        path = self.folder / "redis.sock"
        self._reach: dict[str, Any] = {"connection_class": redis.UnixDomainSocketConnection, "path": str(path)}
        self._address = f"unix://{quote(str(path))}"
        return ["port 0", "unixsocket redis.sock", "unixsocketperm 700"]  # relative: the guard is in the folder

    def _on_loopback(self) -> list[str]:
        port, password = self._login()
        self._reach = {"host": "127.0.0.1", "port": port, "password": password}
        self._address = f"redis://:{password}@127.0.0.1:{port}"
        return [f"port {port}", "bind 127.0.0.1", f"requirepass {password}"]

    def _login(self) -> tuple[int, str]:
        """Where to listen on loopback, and the password."""
        return _free_port(), secrets.token_hex(16)

    def _set_guard(self, program: Found, conf: list[str]) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-I",
            "-S",
            str(GUARD),
            str(self.folder),
            program.path,
            *self.arguments,
        ]
        read, self._pipe = os.pipe()  # neither end is inherited by other programs
        try:
            return subprocess.Popen(  # noqa: S603 - the program is one of find_servers(), the rest our own
                command,
                stdin=read,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "JOBKIT_GUARD_CONF": "\n".join(conf) + "\n"},
                start_new_session=True,  # so that a signal to the owner's group does not hit it
            )
        except BaseException:
            os.close(self._pipe)
            raise
        finally:
            os.close(read)

    def _answer(self, *, but_not: int = 0) -> dict[str, Any]:
        """What INFO says, as soon as the server is ready (with another process id than `but_not`)."""
        clock = Clock()
        deadline = clock.monotonic() + PATIENCE
        while True:
            try:
                self._direct.ping()  # refused while it reads its data from disk, which INFO is not
                told: Any = self._direct.info("server")
                if told["process_id"] != but_not:
                    return dict(told)
            except redis.ConnectionError:
                words = self._last_words()
                if self._guard.poll() is not None or GAVE_UP.search(words) or clock.monotonic() > deadline:
                    raise ServerUnavailable(f"the private server does not start: {words}") from None
            clock.sleep(0.001)

    def _last_words(self) -> str:
        try:
            lines = (self.folder / "server.log").read_text(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else "it says nothing"


def best_server() -> Found:
    """The first server program that is usable. Raises ServerUnavailable where there is none."""
    program = next(usable_servers(), None)
    if program is None:
        raise ServerUnavailable(f"no Redis server to start: {why_none()}")
    return program


def _places(over: str | None) -> list[tuple[Path, bool]]:
    """Folders to try, not made yet, and whether to listen on a Unix socket in them.

    Nothing is tried out in the file system: a process that is killed meanwhile would leave it behind.
    """
    if over not in {None, "unix", "loopback"}:
        raise ConfigError(f"over is unix, loopback or None, got {over!r}")
    name = f"jobkit-{secrets.token_hex(4)}"
    bases = list(dict.fromkeys([tempfile.gettempdir(), "/tmp"]))  # noqa: S108 - the guard makes the folder, private
    short = [
        Path(base) / name for base in bases if len(os.fsencode(f"{base}/{name}/redis.sock")) <= LONGEST_SOCKET_PATH
    ]
    places = [(folder, True) for folder in short if over != "loopback"]
    return places if over == "unix" else [*places, (Path(bases[0]) / name, False)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_alive: set[PrivateServer] = set()
_shared: list[PrivateServer] = []
_lock = threading.Lock()


def shared_server() -> PrivateServer:
    """The one private server of this process that `connect()` uses, started on the first call.

    Another process, such as a second notebook's kernel, gets another one, unless it is given this
    one's address in JOBKIT_REDIS.
    """
    with _lock:
        if _shared and not _shared[0].answers():  # somebody shut it down: nothing in it can come back
            _shared.pop().close()
        if not _shared:
            _shared.append(PrivateServer())
        return _shared[0]


def _close_all() -> None:
    for server in list(_alive):
        server.close()


def _disown_all() -> None:
    """In a child made by os.fork: let go of the pipes, or the servers would outlive the owner."""
    for server in _alive:
        server.disown()
    _alive.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown_all)
