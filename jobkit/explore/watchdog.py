"""Ends code that runs on without a step: an endless loop in a worker."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator

from jobkit.errors import ConfigError, ExploreError

LEAST = 0.05
"""Seconds of patience that a machine with other work needs, at least."""
_AGAIN = 0.013
"""Seconds between two bites: who catches one, and goes on, is bitten where he catches nothing."""


class Endless(BaseException):
    """Raised in the thread of the search, wherever it is, when nothing has happened for too long."""


class Watchdog:
    """Looks twice per `patience` (seconds) whether there was a beat; if there was none, it bites."""

    def __init__(self, patience: float = 2.0) -> None:
        number = isinstance(patience, int | float) and not isinstance(patience, bool)
        if not number or not LEAST <= patience <= threading.TIMEOUT_MAX:
            raise ConfigError(f"patience is a number of seconds from {LEAST}, got {patience!r:.100}")
        self.patience = patience
        self._beats, self._resting = 0, False

    def beat(self) -> None:
        """Say that something happened."""
        self._beats += 1

    @contextlib.contextmanager
    def rest(self) -> Iterator[None]:
        """Rest while another process works, whose time somebody else minds."""
        self._resting = True
        try:
            yield
        finally:
            self.beat()
            self._resting = False

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Watch this thread. Raises ExploreError where it is not a worker that never ends, but a promise."""
        ended, watched, bites = threading.Event(), threading.get_ident(), list[int]()

        def look() -> None:
            seen, quiet = self._beats, 0
            while not ended.wait(self.patience / 2 if quiet < 2 else _AGAIN):
                quiet = quiet + 1 if self._beats == seen and not self._resting else 0
                seen = self._beats
                if quiet >= 2:
                    bites.append(quiet)
                    _bite(watched)

        dog = threading.Thread(target=look, name="jobkit-explore-watchdog", daemon=True)
        dog.start()
        try:
            try:
                yield
            finally:
                ended.set()
        except Endless:
            raise ExploreError(
                f"for {self.patience:g} s no worker sent a command: does a promise, or `given`, never end?"
            ) from None
        finally:
            ended.set()
            dog.join()
            if bites:
                _take_the_last(watched)


def _bite(thread: int) -> None:
    """Raise Endless in a thread as soon as it runs Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Endless))


def _take_the_last(thread: int) -> None:
    """Take a bite that may still be on its way. To call it off leaves the interpreter looking for it, for good."""
    with contextlib.suppress(Endless):
        _bite(thread)
        for _ in range(1000):
            pass
