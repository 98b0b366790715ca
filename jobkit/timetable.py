"""When a schedule's occurrences are: every so many seconds, or by cron in a time zone. Pure.

An occurrence is named by its slot, the moment at which it should be (ms since the epoch). Slots
follow from the last one alone, never from when somebody looked, so a late scheduler makes no drift.

On the days when a zone's clocks are moved:

    a fixed time of day (30 2 * * *)     once per local day: at its first 02:30 where there are two, at
                                         the end of the gap (03:00) where there is none
    minute or hour begins with *         follows real time: 24 times in 24 hours

That is what Debian's cron does, and the parser, cronsim. (croniter 7.0 fires twice where 02:30 comes twice.)
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import count
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from jobkit.clock import Seconds, to_ms
from jobkit.errors import DelayError, ScheduleError

LEAST_EVERY = 1000
"""The shortest interval, in ms."""

DAY = 86_400

LOOK = 5000
"""Slots that are looked at in one step: a minutely schedule has them in three and a half days."""

CHUNK = 500
"""Occurrences that are made in one step."""

MOST = 1000
"""The largest limit of `all:N`."""


class Timetable(Protocol):
    """When occurrences are: `Every` or `Cron`."""

    def after(self, moment: int) -> Iterator[int]:
        """Yield the slots after a moment, each later than the one before."""
        ...

    def settled(self, last: int, now: int) -> int:
        """Return the `last` with which nothing up to `now` is to come any more."""
        ...


@dataclass(frozen=True)
class Every:
    """Each `ms` from the last slot on."""

    ms: int

    @classmethod
    def of(cls, seconds: Seconds) -> Every:
        """Make it of seconds. Raises ScheduleError."""
        try:
            return cls(to_ms(seconds, "every", least=LEAST_EVERY))
        except DelayError as error:
            raise ScheduleError(str(error)) from None

    def after(self, moment: int) -> Iterator[int]:
        """Yield the slots after a moment, which is itself one."""
        return count(moment + self.ms, self.ms)

    def settled(self, last: int, now: int) -> int:
        """Return the newest slot up to `now`: the grid stays."""
        return last + max(0, now - last) // self.ms * self.ms


@dataclass(frozen=True)
class Cron:
    """A cron expression of five fields, read in a time zone by its IANA name. Raises ScheduleError."""

    expression: str
    zone: str = "UTC"
    _zone: tzinfo = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        fields = self.expression.split() if isinstance(self.expression, str) else []
        if len(fields) != 5:
            raise ScheduleError(
                "cron is five fields (minute, hour, day of month, month, day of week), such as '30 2 * * *'; "
                f"got {self.expression!r:.100}"
            )
        try:
            zone = UTC if self.zone == "UTC" else ZoneInfo(self.zone)
        except (LookupError, ValueError, OSError, TypeError, AttributeError):
            raise ScheduleError(f"tz is a time zone's name, such as Europe/Berlin; got {self.zone!r:.100}") from None
        object.__setattr__(self, "_zone", zone)
        try:
            next(self.after(0))
        except (CronSimError, ValueError) as error:
            raise ScheduleError(f"cron {self.expression!r:.100}: {error}") from None
        except StopIteration:
            raise ScheduleError(f"cron {self.expression!r:.100} has no occurrence in fifty years") from None

    def after(self, moment: int) -> Iterator[int]:
        """Yield the slots after a moment.

        Only what is later than the one before: 02:00 and 02:30 of a day without either are both
        03:00, and an hour that comes twice begins again before the moment.
        """
        real_time = any(part.startswith("*") for part in self.expression.split()[:2])
        for second in self._by_offset(moment // 1000) if real_time else self._by_wall_clock(moment // 1000):
            slot = second * 1000
            if slot > moment:
                moment = slot
                yield slot

    def _by_wall_clock(self, second: int) -> Iterator[int]:
        """Each local time once; where it does not exist, the end of the gap."""
        for at in CronSim(self.expression, datetime.fromtimestamp(second, self._zone)):
            yield int(at.timestamp())

    def _by_offset(self, second: int) -> Iterator[int]:
        """Each moment whose local time fits, from one change of the zone's offset to the next.

        The parser could go through a zone's time by itself. But it goes in steps of an hour, and
        where clocks are moved by half an hour (Lord Howe) it then misses the first half of each.
        """
        offset = self._offset(second)
        while True:
            for wall in CronSim(self.expression, datetime.fromtimestamp(second + offset, UTC)):
                found = int(wall.timestamp()) - offset
                if found - second > DAY:  # come nearer first: the offset may have changed, and changed back
                    second = found - DAY
                    offset = self._offset(second)
                    break
                if self._offset(found) != offset:
                    change = second + bisect_left(range(second, found), 1, key=lambda at: self._offset(at) != offset)
                    second, offset = change - 1, self._offset(change)
                    break
                second = found
                yield found
            else:
                return

    def _offset(self, second: int) -> int:
        """How far, in seconds, local time is ahead of UTC."""
        ahead = datetime.fromtimestamp(second, self._zone).utcoffset()
        return 0 if ahead is None else round(ahead.total_seconds())

    def settled(self, last: int, now: int) -> int:  # noqa: ARG002 - a calendar's slots need no grid
        """Return `now`."""
        return now


@dataclass(frozen=True)
class CatchUp:
    """What becomes of occurrences that were missed, because no scheduler ran.

    skip      they are dropped
    latest    the newest is made up for, unless a later one is on time
    all:N     the newest N are made up for

    Missed is what is late by more than the schedule's `grace`; what is less late is made in any
    case. Raises ScheduleError for another word.
    """

    word: str
    keep: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        known = {"skip": 0, "latest": 1}
        name, _, limit = self.word.partition(":") if isinstance(self.word, str) else ("", "", "")
        keep = int(limit) if name == "all" and limit.isascii() and limit.isdigit() else known.get(self.word, -1)
        if not (1 <= keep <= MOST if name == "all" else keep >= 0):
            raise ScheduleError(f"catch_up is skip, latest, or all:N with N from 1 to {MOST}; got {self.word!r:.100}")
        object.__setattr__(self, "keep", keep)

    def dropped(self, missed: int, *, rest: bool) -> int:
        """Return how many of the missed are dropped; `rest`: later ones are there."""
        return max(0, missed - (0 if self.word == "latest" and rest else self.keep))


class Plan(NamedTuple):
    """One step of a schedule: the slots to make, how many are dropped before them, and where that leads."""

    slots: list[int]
    dropped: int
    last: int
    """The newest slot that is settled by this."""
    next: int
    """The slot after it."""


def plan(timetable: Timetable, last: int, now: int, catch_up: CatchUp, grace: int) -> Plan:
    """Say what is to be made of the slots after `last` up to `now` (all in ms), in steps of a bounded size.

    Where more is due than one step can do, `next` is due, too. Raises ScheduleError if there is no next.
    """
    due: list[int] = []
    upcoming = None
    for slot in timetable.after(last):
        if slot > now or len(due) == LOOK:
            upcoming = slot
            break
        due.append(slot)
    if upcoming is None:
        raise ScheduleError("it has no occurrence in fifty years")
    missed = bisect_left(due, now - grace)
    on_time, more = missed < len(due), upcoming <= now
    dropped = catch_up.dropped(missed, rest=on_time or more)
    # All is missed, and there is more: which are the newest, the next step will know.
    slots = due[dropped : dropped + CHUNK] if on_time or not more else []
    end = dropped + len(slots)
    return Plan(slots, dropped, due[end - 1] if end else last, due[end] if end < len(due) else upcoming)


def slot_text(slot: int) -> str:
    """Say a slot in UTC: 2026-10-25T00:30:00Z, with milliseconds if there are any."""
    text = datetime.fromtimestamp(slot / 1000, UTC).isoformat(timespec="milliseconds" if slot % 1000 else "seconds")
    return text.removesuffix("+00:00") + "Z"
