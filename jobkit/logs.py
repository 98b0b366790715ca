"""The kit's log, for people: `13:32:04.123  worker-1a2b3c4d  receipt: done, attempt 1 (...)`.

Workers and schedulers log to the stdlib's loggers `jobkit.worker` and `jobkit.scheduler`. A library
is silent until it is asked: a program adds handlers of its own, a notebook calls `show_log()`.
"""

from __future__ import annotations

import logging
import sys

from jobkit.errors import ConfigError

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
NAME = "jobkit.show_log"
"""Of the handler: by it a second call finds the first one's, even after this module was reloaded."""

logger = logging.getLogger("jobkit")


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


class Here(logging.Handler):
    """Writes to stdout in a notebook, where stderr is a red box, else to stderr: whatever they are at the time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; a log that fails must not end what it tells of."""
        try:
            print(
                self.format(record), file=sys.stdout if "ipykernel.kernelapp" in sys.modules else sys.stderr, flush=True
            )
        except Exception:  # noqa: BLE001 - as every handler of the stdlib does
            self.handleError(record)


class Line(logging.Formatter):
    """One line: time, who, what. `who` is the record's `worker`, else this formatter's, else the thread.

    A traceback follows on lines of its own. Control characters, as a job's id may hold them, are
    escaped: nothing that is logged can look like another line.
    """

    default_time_format = "%H:%M:%S"
    default_msec_format = "%s.%03d"

    def __init__(self, who: str = "") -> None:
        super().__init__()
        self._who = who

    def format(self, record: logging.LogRecord) -> str:
        """Turn a record into its line, and its traceback into more of them."""
        thread = (record.threadName or "?").replace("MainThread", "main").removeprefix("jobkit-")
        who = getattr(record, "worker", self._who or thread)
        trace = self.formatException(record.exc_info).split("\n") if record.exc_info else []
        return "\n".join(map(plain, [f"{self.formatTime(record)}  {who:9}  {record.getMessage()}", *trace]))


def counted(n: int, what: str) -> str:
    """Say how many: 1 job, 2,000 jobs, 3 retries."""
    return f"{n:,} {what if n == 1 else what[:-1] + 'ies' if what.endswith('y') else what + 's'}"


def plain(text: str) -> str:
    """Escape what does not print (line ends, control and direction characters): the rest stays as it is."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
