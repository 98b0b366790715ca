"""Real worker processes, to be watched and killed: from a notebook, or by the chaos campaign.

A worker process imports a module (`shop:worker`), so its handlers stand in a file: a function from
a cell can't travel. The processes are children that end with their parent, however it ends: each
reads its standard input, a pipe whose other end only the parent holds; so does one more, which then
removes their files. They are process groups of their own, so that a notebook's stop button (SIGINT
to its whole group) does not reach them.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self
from weakref import WeakSet

from jobkit import journal
from jobkit.clock import Clock
from jobkit.connect import Connected, address_for_others
from jobkit.errors import JobkitError, ServerUnavailable

REMOVER = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"
"""The program that removes a crew's folder when its owner is gone, even by SIGKILL, whoever of the crew is left."""


class Crew:
    """Worker processes of one worker, on the server of `redis`; `with` stops them at the end.

    `target` is `module:worker`, found from `folder` (default: here). They are named w1, w2, ... in
    the order of their start; `threads` is how many jobs each runs at once.
    """

    def __init__(
        self, redis: Connected, target: str, workers: int = 3, *, threads: int = 1, folder: str | Path | None = None
    ) -> None:
        self.target, self.threads = target, threads
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: list[tuple[int, str]] = []
        """(ms since the epoch, name) of each kill."""
        self._folder, self._clock, self._started = folder or Path.cwd(), Clock(), 0
        self._env = {**os.environ, "JOBKIT_REDIS": address_for_others(redis)}
        self._files = Path(tempfile.mkdtemp(prefix="jobkit-crew-"))
        remover = [sys.executable, "-I", "-S", "-c", REMOVER, str(self._files)]  # without the kit: quick
        self._remover = subprocess.Popen(remover, stdin=subprocess.PIPE, process_group=0)  # noqa: S603 - this very Python
        _crews.add(self)
        for _ in range(workers):
            self.start()

    def start(self) -> str:
        """Start one more process; returns its name."""
        self._started += 1
        name = f"w{self._started}"
        with (self._files / f"{name}.log").open("wb") as log:
            self.running[name] = subprocess.Popen(  # noqa: S603 - this very Python, and names of our own
                self._command(name),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=self._env,
                cwd=self._folder,
                process_group=0,
            )
        return name

    def _command(self, name: str) -> list[str]:
        """Return the program of one process."""
        command = [sys.executable, "-m", "jobkit", "worker", self.target, "--name", name, "--with-parent"]
        return [*command, "--threads", str(self.threads), "--journal", str(self._files / "journal")]

    def freeze(self, name: str) -> None:
        """Stop a process in its tracks (SIGSTOP), as a long pause does: what it was doing stays as it is."""
        self.running[name].send_signal(signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a frozen process go on (SIGCONT)."""
        self.running[name].send_signal(signal.SIGCONT)

    def kill(self, name: str) -> None:
        """End a process by SIGKILL: no handler, no `finally`, no farewell."""
        process = self.running.pop(name)
        process.kill()
        self.killed.append((self._clock.now(), name))
        process.wait()
        _close(process)

    def replace(self) -> list[str]:
        """Start another in the place of each process that ended by itself, as a supervisor does; returns the names."""
        ended = [name for name, process in self.running.items() if process.poll() is not None]
        for name in ended:
            _close(self.running.pop(name))
            self.start()
        return ended

    def stop(self, patience: float = 15) -> None:
        """End all of them in order (SIGTERM), by SIGKILL what has not ended after `patience` seconds."""
        running, self.running = list(self.running.values()), {}
        for process in running:
            process.terminate()
        end = self._clock.monotonic() + patience
        for process in running:
            try:
                process.wait(max(0.0, end - self._clock.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            _close(process)

    def marks(self) -> list[journal.Mark]:
        """Return every start and end of a handler so far."""
        path = self._files / "journal"
        return journal.read(path) if path.exists() else []

    def log(self, name: str) -> str:
        """Return what a process said."""
        return (self._files / f"{name}.log").read_text("utf-8", "replace")

    def wait(self, condition: Callable[[], object], seconds: float, what: str = "it") -> None:
        """Wait until `condition()` holds.

        Raises ServerUnavailable with the last words of a process that ended by itself meanwhile,
        JobkitError when the time is over.
        """
        end = self._clock.monotonic() + seconds
        while not condition():
            for name, process in self.running.items():
                if process.poll() is not None:
                    words = self.log(name).strip().splitlines()
                    raise ServerUnavailable(
                        f"worker {name} ended by itself: {words[-1] if words else 'no word of why'}"
                    )
            if self._clock.monotonic() > end:
                raise JobkitError(f"{what} did not happen within {seconds:g} s")
            self._clock.sleep(0.01)

    def close(self) -> None:
        """Stop all, and remove the journal and the logs."""
        self.stop()
        _close(self._remover)
        self._remover.wait()
        _crews.discard(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Crew({self.target!r}: {', '.join(self.running) or 'nobody'})"


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()


_crews: WeakSet[Crew] = WeakSet()


@atexit.register
def _close_all() -> None:
    for crew in list(_crews):
        crew.close()
