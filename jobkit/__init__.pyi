"""What `import jobkit as jk` offers; each name is imported when it is first used."""

# The queue and who works on it
from .connect import connect as connect
from .queue import Queue as Queue
from .shards import ShardedQueue as ShardedQueue
from .submission import New as New
from .ready import (
    Leases as Leases,
    Lists as Lists,
    Streams as Streams,
)
from .worker import Worker as Worker
from .scheduler import Scheduler as Scheduler
from .leader import Leader as Leader
from .recurring import Schedules as Schedules
from .once import (
    effect_key as effect_key,
    once as once,
)
from .logs import show_log as show_log

# What they answer
from .answers import (
    Counts as Counts,
    DeadLetter as DeadLetter,
    Promoted as Promoted,
    Recovered as Recovered,
    Submitted as Submitted,
)
from .job import (
    Claim as Claim,
    Job as Job,
    State as State,
)
from .history import Event as Event
from .outcome import Outcome as Outcome
from .schedule import Schedule as Schedule
from .firing import (
    Fired as Fired,
    Occurred as Occurred,
)

# When to try again
from .backoff import (
    Backoff as Backoff,
    Decorrelated as Decorrelated,
    Exponential as Exponential,
    Table as Table,
    additive as additive,
    equal as equal,
    full as full,
    none as none,
    proportional as proportional,
)

# When a schedule occurs
from .timetable import (
    CatchUp as CatchUp,
    Cron as Cron,
    Every as Every,
)

# Time and chance
from .clock import (
    Clock as Clock,
    VirtualClock as VirtualClock,
    new_rng as new_rng,
)

# What goes wrong
from .errors import (
    BackoffError as BackoffError,
    Cancelled as Cancelled,
    ConfigError as ConfigError,
    DelayError as DelayError,
    JobError as JobError,
    JobkitError as JobkitError,
    LeaseLost as LeaseLost,
    Permanent as Permanent,
    RetryAfter as RetryAfter,
    RunTooLong as RunTooLong,
    ScheduleError as ScheduleError,
    ServerUnavailable as ServerUnavailable,
    StaleClaim as StaleClaim,
    UnknownJob as UnknownJob,
    UnknownSchedule as UnknownSchedule,
    UnknownTask as UnknownTask,
    UnsafeServer as UnsafeServer,
    WrongState as WrongState,
)

# The simulator of retry storms, and the pictures
from . import (
    plot as plot,
    storm as storm,
)
