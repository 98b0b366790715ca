"""What can be submitted: a job, checked before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from jobkit.clock import Seconds, moment_ms, to_ms
from jobkit.errors import JobError
from jobkit.job import check_id, check_text, encode

MOST_ATTEMPTS = 1000

LEAST_LEASE = 10
"""The shortest lease, in ms."""

Row = tuple[str, str, str, bytes, int, int, str, int | str]
"""What `submit.lua` takes of a job: id, when, task, args, max, priority, entity, lease."""


class New(NamedTuple):
    """A job to be submitted; the arguments are those of `Queue.submit`."""

    task: str
    args: Mapping[str, Any] | bytes | None = None
    delay: Seconds = 0
    at: datetime | None = None
    id: str | None = None
    priority: int = 0
    entity: str | None = None
    max_attempts: int | None = None
    lease: Seconds | None = None

    def row(self, fresh_id: str, max_attempts: int, now: int) -> Row:
        """Check all of it, and return it as `submit.lua` takes it.

        `fresh_id` and `max_attempts` serve where the job names none; `now` (ms) only says what is
        plausible. Raises JobError or DelayError.
        """
        if self.at is not None and self.delay != 0:
            raise JobError("a job has a delay or an `at`, not both")
        return (
            fresh_id if self.id is None else check_id(self.id),
            f"+{to_ms(self.delay)}" if self.at is None else str(moment_ms(self.at, now)),
            check_text(self.task, "a task"),
            encode(self.args),
            max_attempts if self.max_attempts is None else whole(self.max_attempts, "max_attempts", 1, MOST_ATTEMPTS),
            whole(self.priority, "priority", 0, 9),
            "" if self.entity is None else check_text(self.entity, "an entity"),
            "" if self.lease is None else to_ms(self.lease, "lease", least=LEAST_LEASE),
        )


def whole(value: object, what: str, least: int, most: int) -> int:
    """Return a whole number within its bounds, or raise JobError."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    raise JobError(f"{what} is a whole number from {least} to {most}, got {value!r}")
