"""Ends code that runs on without a step: an endless loop in a worker."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterator


class Endless(BaseException):
    """Raised in the thread of the search, wherever it is, when nothing has happened for too long."""


class Watchdog:
    """Looks twice per `patience` (seconds) whether there was a beat; if there was none, it bites."""

    def __init__(self, patience: float = 2.0) -> None:
        self.patience = patience
        self._beats = 0

    def beat(self) -> None:
        """Say that something happened."""
        self._beats += 1

    @contextlib.contextmanager
    def watch(self) -> Iterator[None]:
        """Watch this thread."""
        ended, watched = threading.Event(), threading.get_ident()

        def look() -> None:
            seen, quiet = self._beats, 0
            while not ended.wait(self.patience / 2):
                quiet = quiet + 1 if self._beats == seen else 0
                seen = self._beats
                if quiet == 2:
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(watched), ctypes.py_object(Endless))

        dog = threading.Thread(target=look, name="jobkit-explore-watchdog", daemon=True)
        dog.start()
        try:
            yield
        finally:
            ended.set()
            dog.join()
