"""The kit's log, for people: `13:32:04.123  worker-1a2b3c4d  receipt: done, attempt 1 (...)`.

Workers and schedulers log to the stdlib's loggers `jobkit.worker` and `jobkit.scheduler`. A library
is silent until it is asked: a program adds handlers of its own, a notebook calls `show_log()`.
"""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

from jobkit.errors import ConfigError

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
NAME = "jobkit.show_log"
"""Of the handler: by it a second call finds the first one's, even after this module was reloaded."""

logger = logging.getLogger("jobkit")
logger.addHandler(logging.NullHandler())


def show_log(level: str | int = "INFO", *, who: str = "") -> None:
    """Show what workers and schedulers log, from `level` on: under the cell in a notebook, else on stderr.

    A line names the worker where it is known, else `who`, else the thread. Calling it again changes
    the level and `who`, and adds nothing. A handler on the root logger shows the same lines once
    more, in its own way. Raises ConfigError for an unknown level.
    """
    number = level if isinstance(level, int) and not isinstance(level, bool) else _number(level)
    handler = next((handler for handler in logger.handlers if handler.name == NAME), None)
    if handler is None:
        handler = Here()
        handler.name = NAME
        logger.addHandler(handler)
    handler.setFormatter(Line(who))
    logger.setLevel(number)


def _number(level: object) -> int:
    name = level.upper() if isinstance(level, str) else ""
    if name not in LEVELS:
        raise ConfigError(f"a log level is one of {', '.join(LEVELS)}, got {level!r}")
    return int(getattr(logging, name))


class Here(logging.StreamHandler[TextIO]):
    """Writes to stdout in a notebook, where stderr is a red box, else to stderr: whatever they are at the time."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)  # not StreamHandler's: it would keep today's stream

    @property
    def stream(self) -> Any:
        """The stream of the moment."""
        return sys.stdout if "ipykernel" in sys.modules else sys.stderr


class Line(logging.Formatter):
    """One line: time, who, what. `who` is the record's `worker`, or else its thread.

    A traceback follows on lines of its own. Control characters, as a job's id may hold them, are
    escaped: nothing that is logged can look like another line.
    """

    default_time_format = "%H:%M:%S"
    default_msec_format = "%s.%03d"

    def __init__(self, who: str = "") -> None:
        super().__init__("%(asctime)s  %(who)s  %(message)s")
        self._who = who

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Fill in who it was."""
        thread = (record.threadName or "?").replace("MainThread", "main").removeprefix("jobkit-")
        record.who = f"{getattr(record, 'worker', self._who or thread):9}"
        record.message = plain(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: Any) -> str:
        """Format a traceback, whose message may hold anything."""
        return "\n".join(map(plain, super().formatException(ei).split("\n")))


def plain(text: str) -> str:
    """Escape what does not print (line ends, control and direction characters): the rest stays as it is."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
