"""A recurring schedule: what is to be done when, and how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from jobkit.clock import spoken
from jobkit.errors import ScheduleError
from jobkit.submission import New
from jobkit.timetable import Cron, Every, Timetable

NAME_BYTES = 150
"""The longest name, in bytes: the slot follows it in the ids of its jobs."""

AHEAD_MS = 60_000
"""How far a last run may lie in the future, in ms: a server's clock that was set back a little is no error."""


@dataclass(frozen=True)
class Schedule:
    """A recurring schedule as its record tells it; all moments in ms since the epoch, by Redis TIME.

    Of a record that cannot be read only `name` and `error` are told.
    """

    name: str
    job: New = field(default=New(""))
    """What each occurrence submits."""
    cron: str = ""
    tz: str = "UTC"
    every: int = 0
    """The interval in ms; 0: it goes by cron."""
    catch_up: str = "latest"
    grace: int = 60_000
    """How late, in ms, an occurrence is still on time."""
    last: int = 0
    """The newest slot that is settled: made, dropped, or before the schedule began."""
    next: int = 0
    """The slot after it."""
    made: int = 0
    """Occurrences that became jobs."""
    dropped: int = 0
    """Occurrences that were missed and not made up for."""
    paused: bool = False
    error: str = ""
    """What stopped it: `resume` starts it again from now on."""
    ahead: int = 0
    """How far, in ms, its calendar was moved on beside the server's clock, by `advance` on a live server."""
    version: bytes = b""

    @cached_property
    def timetable(self) -> Timetable:
        """When it occurs. Raises ScheduleError."""
        return Every(self.every) if self.every else Cron(self.cron, self.tz)

    @property
    def when(self) -> str:
        """Its timetable in words: every 30 s; 30 2 * * * Europe/Berlin."""
        return f"every {spoken(self.every)}" if self.every else f"{self.cron} {self.tz}"

    @property
    def goes_by(self) -> tuple[str, str, int]:
        """What its slots follow from: another timetable is another schedule."""
        return self.cron, self.tz, self.every

    @property
    def due(self) -> int | None:
        """When its next occurrence is due, by the server's clock; None: not at all."""
        return None if self.paused or self.error else self.next - self.ahead

    def __str__(self) -> str:
        state = f", stopped: {self.error}" if self.error else ", paused" if self.paused else ""
        return f"{self.name}: {self.job.task} {self.when}, {self.made} made, {self.dropped} dropped{state}"

    def started(self, now: int) -> Schedule:
        """Return it as it goes on from now (the server's, in ms): what was due before is not made up for."""
        last = self.timetable.settled(min(self.last, now + self.ahead), now + self.ahead)
        return replace(self, last=last, next=next(self.timetable.after(last)), paused=False, error="")

    def too_new(self, now: int) -> str:
        """Say what is wrong if its last run lies in the future: who wrote that had another clock. Else ''."""
        late = self.last - self.ahead - now
        return f"its last run is {spoken(late)} in the future" if late > AHEAD_MS + self.every else ""

    def record(self) -> dict[str, str | bytes | int]:
        """Turn it into the fields of its record, all but the version."""
        _, _, task, payload, attempts, priority, entity, lease = self.job.row("", 0, 0)
        return {
            "task": task,
            "args": payload,
            "max": attempts,
            "priority": priority,
            "entity": entity,
            "lease": lease,
            "cron": self.cron,
            "tz": self.tz,
            "every": self.every,
            "catch_up": self.catch_up,
            "grace": self.grace,
            "last": self.last,
            "next": self.next,
            "made": self.made,
            "dropped": self.dropped,
            "paused": int(self.paused),
            "error": self.error,
            "ahead": self.ahead,
        }

    @classmethod
    def of_record(cls, name: str, record: Mapping[bytes, bytes]) -> Schedule:
        """Read a record; whether its timetable makes sense shows when that is asked for. Raises ScheduleError."""
        try:
            text = {key.decode(): value.decode() for key, value in record.items() if key not in _OPAQUE}
            numbers = {key: int(text[key]) for key in _NUMBERS}
            job = New(
                text["task"],
                record[b"args"],
                priority=int(text["priority"]),
                entity=text["entity"] or None,
                max_attempts=int(text["max"]) or None,
                lease=int(text["lease"]) / 1000 if text["lease"] else None,
            )
            job.row("", 1, 0)
            return cls(
                name,
                job,
                text["cron"],
                text["tz"],
                catch_up=text["catch_up"],
                paused=text["paused"] == "1",
                error=text["error"],
                version=record[b"version"],
                **numbers,
            )
        except (KeyError, ValueError) as error:
            why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise ScheduleError(f"its record cannot be read: {why}") from None


_NUMBERS = ("every", "grace", "last", "next", "made", "dropped", "ahead")
_OPAQUE = {b"args", b"version", b"answer"}
