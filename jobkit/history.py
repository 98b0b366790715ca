"""What happened to a job: the lines that its record keeps, and how an error becomes one.

A line is `<started> <ended> <attempt> <outcome> <delay> <detail>`: two moments and a delay in ms,
and whatever the client said of the error, as opaque bytes.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobkit.clock import spoken

MESSAGE_CHARS = 500
TRACEBACK_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a job's history: a run that ended, or what else happened to it. Times in ms."""

    started: int
    ended: int
    attempt: int
    """Which run it was; 0 where it was none."""
    outcome: str
    """done, retry, dead, cancelled, recovered, released, requeued; running for the present run."""
    delay_ms: int = 0
    """How long the job waits until it is due again, after a retry or a requeue."""
    error: Mapping[str, str] = field(default_factory=dict)
    """`type`, `message` and `traceback` of what the handler raised; `message` alone for other reasons."""

    def __str__(self) -> str:
        what = ": ".join(self.error[part] for part in ("type", "message") if self.error.get(part))
        again = f", again in {spoken(self.delay_ms)}" if self.outcome in ("retry", "requeued") else ""
        run = f"attempt {self.attempt}: " if self.attempt else ""
        return f"{run}{self.outcome}{again}{f' ({what})' if what else ''}"


def describe(error: BaseException | str) -> bytes:
    """Turn what went wrong into bytes for the history: type, message and the end of the traceback, all bounded."""
    if isinstance(error, str):
        detail = {"message": error[:MESSAGE_CHARS]}
    else:
        frames = error.__traceback__
        if frames is not None and frames.tb_frame.f_globals.get("__name__") == "jobkit.runner":
            frames = frames.tb_next  # the handler's own frames are the news
        trace = "".join(traceback.format_exception(type(error), error, frames))
        detail = {
            "type": type(error).__name__,
            "message": said(error)[:MESSAGE_CHARS],
            "traceback": trace if len(trace) <= TRACEBACK_CHARS else "...\n" + trace[-TRACEBACK_CHARS:],
        }
    return json.dumps(detail, ensure_ascii=True).encode()


def said(error: BaseException) -> str:
    """Return the message of an error, even of one that cannot say it."""
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever __str__ raises, the job must be settled
        return "<str() failed>"


def parse(line: bytes) -> Event:
    """Read a line back."""
    started, ended, attempt, outcome, delay, detail = line.split(b" ", 5)
    try:
        error = json.loads(detail)
    except ValueError:  # a script's own reason, in plain words
        error = {"message": detail.decode("utf-8", "replace")} if detail else {}
    return Event(int(started), int(ended), int(attempt), outcome.decode(), int(delay), error)


def events(record: Mapping[bytes, bytes]) -> list[Event]:
    """Return the history that a record holds, oldest first, with its present or last run at the end.

    A run that is still going on ends when it started; a run that is done has no line of its own:
    the record's own fields tell it.
    """
    last = int(record.get(b"events", 0))
    lines = [record[key] for n in range(1, last + 1) if (key := b"history:%d" % n) in record]
    past = [parse(line) for line in lines]
    state = record.get(b"state")
    if state in (b"running", b"done"):
        started = int(record[b"started"])
        ended = int(record[b"ended"]) if state == b"done" else started
        past.append(Event(started, ended, int(record[b"attempt"]), state.decode()))
    return past
