"""Workers in processes of their own, for code that is judged: it may be broken, or want to pass at any price.

    with Apart("answer.py") as code:
        explore(code.worker("claim"), code.worker("claim"), given=jobs(1), finally_=each_runs_once)

The server, the order of steps, the promises and the verdict are here; the code is elsewhere, and all
that comes from there is what a worker can ask for: commands, effects, a time to sleep, an end. So a
forged message does what the worker could have done by itself, and no more. Each worker has a process
of its own, as in real life: what one keeps in a global, no other sees.

Not kept from the code: files and the network, so that workers can talk behind the explorer's back;
other processes of the same user, this one included: it can signal them, and debug them where the
system allows that; and a process that it sends into a session of its own outlives it. The memory of
the fake is this process's, and a Lua pattern or a KEYS made for it can keep it busy for hours. So
whoever judges strangers does all of this in a sandbox, with a limit of time and memory.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

from jobkit.clock import Clock
from jobkit.errors import ConfigError, ExploreError
from jobkit.explore.calls import Actor, Answer, Call, Ended, Request
from jobkit.explore.frames import Start, answer_bytes
from jobkit.explore.held import Held
from jobkit.explore.spelling import words
from jobkit.explore.watchdog import Watchdog

AHEAD = 3
"""Processes that are started at the first mention of a worker, so that they load side by side."""
OWNERS = frozenset(
    b"ACL BGREWRITEAOF BGSAVE CLUSTER CONFIG DEBUG FAILOVER FCALL FCALL_RO FUNCTION LATENCY MIGRATE MODULE "
    b"MONITOR PSYNC REPLCONF REPLICAOF SAVE SHUTDOWN SLAVEOF SLOWLOG SYNC "
    b"CLIENT|KILL CLIENT|PAUSE CLIENT|REPLY SCRIPT|FLUSH SCRIPT|KILL".split()
)
"""Commands for whoever owns a server, and not for its workers."""
_DIVIDED = frozenset({b"CLIENT", b"SCRIPT"})


class Apart:
    """The code of a file, each worker of it in a process of its own; `with` ends them.

    - `folder`: where the code runs and finds what it imports. Default: the file's own.
    - `memory`: bytes of address space for each, where the system has such a limit (Linux).
    - `seconds`: how long its workers may run in all; `load_seconds`, how long the file may take.

    `explore` takes its workers beside plain functions, also for `after_crash`. What the code prints is
    in `printed`. Return values arrive if they are made of None, bool, numbers, text, bytes, lists,
    tuples and dicts; anything else as its repr. An error arrives as its nearest class of Python,
    redis-py or jobkit.

    Raises ExploreError, and ends all processes, when one ends, hangs up, sends nonsense, or runs for
    `patience` seconds (an argument of `explore`) without a command.
    """

    def __init__(
        self,
        path: str | Path,
        folder: str | Path | None = None,
        *,
        memory: int = 2 << 30,
        seconds: float = 120.0,
        load_seconds: float = 20.0,
    ) -> None:
        if not hasattr(os, "killpg"):
            raise ConfigError("workers apart need a POSIX system: Linux, macOS, WSL")
        self.path = Path(path).resolve()
        self._folder = Path(folder).resolve() if folder else self.path.parent
        if not self.path.is_file() or not self._folder.is_dir():
            raise ConfigError(f"there is no file {path}" if self._folder.is_dir() else f"there is no folder {folder}")
        self._memory, self._seconds, self._load_seconds = memory, seconds, load_seconds
        self._clock, self._spent, self._closed = Clock(), 0.0, False
        self._spare: list[Held] = []
        self._held: dict[str, Held] = {}
        self._printed: dict[str, str] = {}

    def worker(self, function: str) -> ApartWorker:
        """Return a worker: a function `f(r)` or `f(r, w)` of the file, by its name."""
        if not self._held and not self._closed and len(self._spare) < AHEAD:
            self._spare.append(self._start())
        return ApartWorker(self, function)

    @property
    def printed(self) -> dict[str, str]:
        """What each worker has printed, the beginning of it: {"A": "..."}."""
        return self._printed | {name: str(held.printed) for name, held in self._held.items()}

    def close(self) -> None:
        """End all processes, for good."""
        self._closed = True
        self.stop()

    def stop(self) -> None:
        """End all processes. The next exploration starts new ones."""
        spare, held, self._spare, self._held = self._spare, self._held, [], {}
        for process in [*held.values(), *spare]:
            process.close()
        self._printed |= {name: str(process.printed) for name, process in held.items()}

    def held_for(self, name: str, watchdog: Watchdog) -> Held:
        """Return the process for worker `name`, with the file loaded."""
        if self._closed:
            raise ExploreError(f"the processes of {self.path.name} were closed: explore and replay inside of `with`")
        if name not in self._held:
            self._held[name] = self._spare.pop(0) if self._spare else self._start()
            self._held[name].who = name
        try:
            with watchdog.rest():
                self._held[name].load(self._load_seconds)
        except BaseException:
            self.stop()
            raise
        return self._held[name]

    def ask(self, held: Held, message: bytes, watchdog: Watchdog, *, whole: bool) -> Request:
        """Let a worker run to its next request, while the watchdog rests: here the time is minded better."""
        begin = self._clock.monotonic()
        try:
            with watchdog.rest():
                request = held.ask(message, watchdog.patience)
            self._spend(self._clock.monotonic() - begin)
            _check(held.who, request, whole=whole)
        except BaseException:
            self.stop()
            raise
        return request

    def _spend(self, seconds: float) -> None:
        self._spent += seconds
        if self._spent > self._seconds:
            raise ExploreError(f"the workers of {self.path.name} have run for {self._seconds:g} s in all")

    def _start(self) -> Held:
        return Held(self.path, self._folder, memory=self._memory, seconds=self._seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Apart({self.path.name!r})"


class ApartWorker:
    """A worker that runs in a process of its own."""

    def __init__(self, code: Apart, function: str) -> None:
        self._code, self._function = code, function

    def actor(self, name: str, offset: int, whole: bool, watchdog: Watchdog) -> Actor:  # noqa: FBT001 - explore's call alone
        """Return the worker of one schedule."""
        return _ApartActor(self._code, Start(self._function, name, offset, whole), watchdog)

    def __repr__(self) -> str:
        return f"{self._code!r}.worker({self._function!r})"


class _ApartActor:
    """One worker of one schedule."""

    def __init__(self, code: Apart, start: Start, watchdog: Watchdog) -> None:
        self.name, self._code, self._watchdog, self._whole = start.name, code, watchdog, start.whole
        self._start: Start | None = start
        self._held = code.held_for(start.name, watchdog)
        self._held.sent = 0

    def go(self, answer: Answer, now: int) -> Request:
        """Run it until its next request."""
        start, self._start = self._start, None
        return self._code.ask(self._held, answer_bytes(start, answer, now), self._watchdog, whole=self._whole)

    def kill(self) -> None:
        """Leave it where it stands: its process unwinds it before another begins."""


def _check(who: str, request: Request, *, whole: bool) -> None:
    """Raise ExploreError for what redis-py would not send for a worker, and for what is the server's owner's."""
    if isinstance(request, Ended) and isinstance(request.error, ExploreError):
        raise request.error
    if not isinstance(request, Call):
        return
    commands = request.commands
    if len(commands) > 1 and not whole and (commands[0], commands[-1]) != ((b"MULTI",), (b"EXEC",)):
        raise ExploreError(f"worker {who} sent {len(commands)} commands for one step")
    for args in commands:
        names = args[0].upper().split() + list(args[1:2])
        if names[0] in OWNERS or (names[0] in _DIVIDED and b"|".join(names[:2]).upper() in OWNERS):
            raise ExploreError(f"worker {who} sent {words(args)}: that is for the owner of a server")
