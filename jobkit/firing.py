"""Making jobs of what recurring schedules have due: each occurrence once, whoever fires, and however many.

Who fires asks what is due (`due.lua`), computes the slots (Lua knows no time zones), and sends the
jobs (`occur.lua`), which in one step compares, makes them, and writes down how far the schedule has
come. So an occurrence is one job, however many fire, and wherever one of them dies. No leader is
needed for that: one saves the others from computing in vain, and its fencing number keeps what an
old one sends out altogether.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from redis.exceptions import RedisError, ResponseError

from jobkit.errors import ConfigError, ScheduleError
from jobkit.queue import Queue
from jobkit.schedule import Schedule
from jobkit.timetable import CatchUp, plan, slot_text

log = logging.getLogger("jobkit.scheduler")

ERROR_TEXT = 500
"""How much of an error is kept, in characters."""

Nonce = Callable[[], bytes]


class Occurred(NamedTuple):
    """What became of one schedule: the slots (ms) that are jobs now, and how many were dropped."""

    name: str
    slots: list[int]
    dropped: int

    def __str__(self) -> str:
        made = ", ".join(map(slot_text, self.slots)) or "nothing"
        return f"{self.name}: {made} made" + (f", {self.dropped} dropped" if self.dropped else "")


class Fired(NamedTuple):
    """What became of what was due, and the seconds until the next is (None: none is to come)."""

    occurred: list[Occurred]
    wait: float | None
    fenced: bool
    """Whether a write was refused because a newer leader is there."""


def fire(queue: Queue, nonce: Nonce, number: int | None, limit: int) -> Fired:
    """Make one step for each schedule that is due; see `Schedules.fire`."""
    now, wait, *flat = queue.call("due", limit=limit)
    waits = ([] if wait < 0 else [wait]) + ([0] if len(flat) == 2 * limit else [])
    occurred: list[Occurred] = []
    refused: ResponseError | None = None
    for key, fields in zip(flat[::2], flat[1::2], strict=True):
        name, record = key.decode(), dict(zip(fields[::2], fields[1::2], strict=True))
        try:
            step = _occur(queue, Schedule.of_record(name, record), now, number or 0, nonce())
        except ConfigError:
            raise
        except ResponseError as error:  # the server's answer to this one; told when the others had their turn
            refused = refused or error
        except RedisError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others must go on
            stop(queue, nonce(), name, record, error)
        else:
            if isinstance(step, str):  # 'fenced', 'changed' or 'early'
                if step == "fenced":
                    return Fired(occurred, 0.0, fenced=True)
                waits.append(0 if step == "changed" else 1000)
            else:
                occurred.append(step[0])
                waits.append(step[1])
    if refused:
        raise refused
    return Fired(occurred, max(0, min(waits)) / 1000 if waits else None, fenced=False)


def _occur(queue: Queue, schedule: Schedule, now: int, number: int, version: bytes) -> tuple[Occurred, int] | str:
    """Make one step of a schedule: what came of it and the ms until the next, or why nothing did."""
    name, at = schedule.name, now + schedule.ahead
    step = plan(schedule.timetable, schedule.last, at, CatchUp(schedule.catch_up), schedule.grace)
    _, _, task, args, attempts, priority, entity, lease = schedule.job.row("", queue.max_attempts, now)
    jobs = [value for slot in step.slots for value in (f"{name}@{slot_text(slot)}", slot)]
    answer: bytes = queue.call(
        "occur", *jobs, name=name, number=number, seen=schedule.version, version=version,
        last=step.last, next=step.next, dropped=step.dropped,
        task=task, args=args, max=attempts, priority=priority, entity=entity, lease=lease,
    )  # fmt: skip
    if not answer.startswith(b"made"):
        return answer.decode()
    if step.dropped:
        log.warning("schedule %s of %s: %d missed occurrences are dropped", name, queue.name, step.dropped)
    return Occurred(name, step.slots, step.dropped), step.next - at


def stop(queue: Queue, nonce: bytes, name: str, record: Mapping[bytes, str | bytes | int], error: Exception) -> None:
    """Set a schedule aside, its error in its record, unless somebody changed it since."""
    why = str(error) if isinstance(error, ScheduleError) else f"{type(error).__name__}: {error}"
    log.error("schedule %s of %s is stopped: %s", name, queue.name, why)
    if record:  # else due.lua has set it aside; and what cannot be read stays as it is
        fields = {**record, b"error": why[:ERROR_TEXT]}
        seen = fields.pop(b"version", b"")
        flat = [value for pair in fields.items() for value in pair]
        queue.call("reschedule", *flat, name=name, seen=seen, version=nonce, due="inf")
