"""Everything that jobkit raises on purpose.

    JobkitError
    ├── DelayError          (ValueError)       a duration or a moment that cannot be meant
    ├── BackoffError        (ValueError)       a retry policy that cannot work
    ├── JobError            (ValueError)       a task, id, payload or limit that is not allowed
    ├── ScheduleError       (ValueError)       a recurring schedule that cannot be meant
    ├── ConfigError         (ValueError)       a setting, URL or client that cannot work
    ├── ServerUnavailable   (ConnectionError)  no Redis where one was expected
    ├── UnsafeServer        (RuntimeError)     refused on a server that the kit did not start
    ├── UnknownJob          (LookupError)      no job of that id
    ├── UnknownSchedule     (LookupError)      no recurring schedule of that name
    ├── UnknownTask         (LookupError)      no handler here for the job's task
    ├── WrongState          (RuntimeError)     the job is in a state that does not allow it
    ├── StaleClaim          (RuntimeError)     the claim is not the newest one any more
    ├── ExploreError        (RuntimeError)     code, or a schedule, that cannot be explored
    └── Stop                                   raised inside a handler, to end it
        ├── Cancelled                          somebody cancelled the job
        ├── LeaseLost                          somebody else may be running it
        └── RunTooLong                         its maximum run time is over

A handler raises these two to say what is to become of its job:

    Permanent       no retry can help: straight to the dead letters
    RetryAfter      try again, after a delay that the handler chooses
"""

from __future__ import annotations


class JobkitError(Exception):
    """The root: catch it to catch everything that jobkit raises on purpose."""


class DelayError(JobkitError, ValueError):
    """A delay, lease or moment that cannot be meant: NaN, text, a naive datetime, eleven years."""


class BackoffError(JobkitError, ValueError):
    """A retry policy that cannot work: a negative base, a cap below it, an unknown jitter."""


class JobError(JobkitError, ValueError):
    """A task name, id, payload or limit that is not allowed; nothing was written."""


class ScheduleError(JobkitError, ValueError):
    """A recurring schedule that cannot be meant: a bad cron expression, an unknown time zone, no date at all."""


class ConfigError(JobkitError, ValueError):
    """A setting, URL or client that cannot work."""


class ServerUnavailable(JobkitError, ConnectionError):
    """No Redis answered where one was expected."""


class UnsafeServer(JobkitError, RuntimeError):
    """Refused, because the kit did not start this server: it may be somebody's production."""


class UnknownJob(JobkitError, LookupError):
    """No job of that id: never submitted, or finished so long ago that its record is gone."""


class UnknownSchedule(JobkitError, LookupError):
    """No recurring schedule of that name."""


class UnknownTask(JobkitError, LookupError):
    """No handler of this worker serves the job's task: the job is buried, and no attempt is charged."""


class WrongState(JobkitError, RuntimeError):
    """The job exists, in a state that does not allow this: a done job can't be cancelled."""


class StaleClaim(JobkitError, RuntimeError):
    """The claim is not the newest one of its job any more, or the job is finished: nothing changed."""


class ExploreError(JobkitError, RuntimeError):
    """Code that cannot be explored (threads, asyncio, an endless loop), or a schedule that does not fit it."""


class Stop(JobkitError):
    """Raised inside a running handler to end it; `job.check()` raises the one that applies."""


class Cancelled(Stop):
    """Somebody cancelled the job while it ran."""


class LeaseLost(Stop):
    """The lease is gone: another worker may be running the job, so this run no longer counts."""


class RunTooLong(Stop):
    """The job's maximum run time is over."""


class Permanent(Exception):
    """Raise it in a handler: no retry can help, the job goes straight to the dead letters."""


class RetryAfter(Exception):
    """Raise it in a handler: try again after `seconds`, whatever the backoff says.

    The attempt still counts. `seconds` is a number or a timedelta, as `submit`'s delay is.
    """

    def __init__(self, seconds: object, reason: str = "") -> None:
        super().__init__(reason or f"retry after {seconds} s")
        self.seconds = seconds
