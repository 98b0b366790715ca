"""A child process as its parent holds it: by one socket pair, with an eye on the clock."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

from jobkit.errors import ExploreError
from jobkit.explore.calls import Ended, Request
from jobkit.explore.frames import Channel, Nonsense, read_request

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH")
"""What a child learns of its parent's environment: neither which Redis there is, nor any token."""
GIVEN = {"JOBKIT_REDIS": "fake", "PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1"}
PRINTED = 1 << 16
"""Bytes kept of what a child prints."""
VOLUME = 64 << 20
"""Bytes that a worker may send in one schedule: as many have room here."""
_FAREWELL = 0.2
"""Seconds for a process that hung up to end, so that its exit code can be told."""


class Held:
    """A child process with a file, for one worker."""

    def __init__(self, file: Path, folder: Path, *, memory: int, seconds: float) -> None:
        self.who, self.sent = "nobody", 0
        """Which worker it is, and how many bytes it has sent in this schedule."""
        self._file, self._loaded, self._open = file, False, True
        ours, theirs = socket.socketpair()
        printed, out = socket.socketpair()
        self._channel, self.printed = Channel(ours), Printed(printed)
        command = [sys.executable, "-P", "-u", "-m", "jobkit.explore.child", str(theirs.fileno())]
        with theirs, out:
            self._process = subprocess.Popen(  # noqa: S603 - this very Python
                [*command, str(file), str(folder), str(memory), str(int(seconds) + 1)],
                stdin=subprocess.DEVNULL,
                stdout=out.fileno(),
                stderr=out.fileno(),
                env={**{name: os.environ[name] for name in KEPT if name in os.environ}, **GIVEN},
                cwd=folder,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def load(self, patience: float) -> None:
        """Wait until the file is loaded. Raises ExploreError where it cannot be, with the line."""
        if self._loaded:
            return
        request = self._answer(b"", patience, f"{self._file.name} was not loaded within {patience:g} s")
        if not isinstance(request, Ended) or request.error is not None:
            self.close()
            raise getattr(request, "error", None) or ExploreError(
                f"{self._file.name} sent a request while it was loaded"
            )
        self._loaded = True

    def ask(self, message: bytes, patience: float) -> Request:
        """Let the worker run to its next request. Raises ExploreError, and ends the process, where none comes."""
        return self._answer(
            message, patience, f"worker {self.who} ran for {patience:g} s without a command: an endless loop?"
        )

    def close(self) -> None:
        """End the process, and all of its group."""
        if not self._open:
            return
        self._open = False
        self._channel.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.printed.close()

    def _answer(self, message: bytes, patience: float, late: str) -> Request:
        who = f"worker {self.who}" if self._loaded else self._file.name
        try:
            self._channel.wait(patience)
            if message:
                self._channel.send(message)
            received = self._channel.receive()
            self.sent += len(received)
            if self.sent > VOLUME:
                raise Nonsense(f"more than {VOLUME} bytes in one schedule")  # noqa: TRY301 - as if it had been too long
            return read_request(received)
        except Nonsense as error:
            problem = f"{who} sent {error}"
        except TimeoutError:
            problem = self._death(who, 0) or late
        except (EOFError, OSError):
            problem = self._death(who, _FAREWELL) or f"{who} closed its connection to the explorer"
        self.close()
        raise ExploreError(problem)

    def _death(self, who: str, seconds: float) -> str:
        """Say how the process ended, if it did."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return ""
        when = "" if self._loaded else " while it was loaded"
        if code < 0:
            return f"{who} was ended by {signal.Signals(-code).name}{when}"
        return f"{who} ended its process{when}, with exit code {code}"


class Printed:
    """What a child prints: the beginning of it is kept, all of it is taken."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._kept, self._left_out = end, bytearray(), 0
        self._reader = threading.Thread(target=self._read, name="jobkit-explore-printed", daemon=True)
        self._reader.start()

    def __str__(self) -> str:
        text = self._kept.decode("utf-8", "replace")
        return text + (f"\n... and {self._left_out} bytes more" if self._left_out else "")

    def close(self) -> None:
        """Take what there is, and no more."""
        self._reader.join(_FAREWELL)
        with contextlib.suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._end.close()

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while piece := self._end.recv(PRINTED):
                kept = piece[: PRINTED - len(self._kept)]
                self._kept += kept
                self._left_out += len(piece) - len(kept)
