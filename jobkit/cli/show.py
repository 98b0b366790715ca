"""A job and its history, whole: for a person, and for a program."""

from __future__ import annotations

import base64
import textwrap
from collections.abc import Sequence
from typing import Any

from jobkit.cli.text import moment, shown
from jobkit.clock import spoken
from jobkit.history import Event
from jobkit.job import Job
from jobkit.logs import counted, plain

TEXT_CHARS = 2000
HEX_BYTES = 240


def as_text(job: Job, events: Sequence[Event], now: int) -> str:
    """Write the fields, the payload (bounded), and each event with its traceback. `now` is the server's, in ms."""
    fields = {
        "id": shown(job.id),
        "task": plain(job.task),
        "state": str(job.state),
        "attempts": f"{job.attempt} of {job.max_attempts}",
        "priority": str(job.priority) if job.priority else "",
        "entity": "" if job.entity is None else shown(job.entity),
        "created": f"{moment(job.created)}  {distance(job.created, now)}",
        "due": f"{moment(job.run_at)}  {distance(job.run_at, now)}",
        "payload": summary(job.payload),
    }
    lines = [f"{name:10}{value}" for name, value in fields.items() if value]
    lines += textwrap.wrap(excerpt(job.payload), 76, initial_indent="  ", subsequent_indent="  ")
    lines += ["", "history" if events else "history   none yet"]
    for event in events:
        lines.append(f"  {moment(event.ended)}  {plain(str(event))}")
        lines += [f"      {plain(line)}" for line in event.error.get("traceback", "").splitlines()]
    return "\n".join(lines)


def distance(then: int, now: int) -> str:
    """How far away a moment is."""
    return f"in {spoken(then - now)}" if then > now else f"{spoken(now - then)} ago"


def text_of(payload: bytes) -> str | None:
    """The payload as text, or None where it is none."""
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        return None
    return text if all(char.isprintable() or char in "\t\r\n" for char in text) else None


def summary(payload: bytes) -> str:
    """How much it is, of what."""
    if not payload:
        return "none"
    text = text_of(payload)
    size = counted(len(payload), "byte")
    if text is None:
        return f"{size}, binary, in hex" + (f", the first {HEX_BYTES}" if len(payload) > HEX_BYTES else "")
    return size + (f", the first {TEXT_CHARS:,} characters" if len(text) > TEXT_CHARS else "")


def excerpt(payload: bytes) -> str:
    """As much of it as fits on a screen."""
    text = text_of(payload)
    return payload[:HEX_BYTES].hex(" ") if text is None else plain(text[:TEXT_CHARS])


def as_record(job: Job, events: Sequence[Event]) -> dict[str, Any]:
    """The same as plain data: moments in ISO 8601, durations in seconds, the payload whole (base64 if binary)."""
    text = text_of(job.payload)
    return {
        "id": job.id,
        "task": job.task,
        "state": str(job.state),
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "priority": job.priority,
        "entity": job.entity,
        "created": moment(job.created),
        "run_at": moment(job.run_at),
        "payload": base64.b64encode(job.payload).decode() if text is None else text,
        "payload_encoding": "base64" if text is None else "utf-8",
        "history": [
            {
                "started": moment(event.started),
                "ended": moment(event.ended),
                "attempt": event.attempt,
                "outcome": event.outcome,
                "delay": event.delay_ms / 1000,
                "error": dict(event.error),
            }
            for event in events
        ],
    }
