"""jobkit: delayed jobs, retries and distributed scheduling on Redis, to learn, practise and teach.

import jobkit as jk

redis = jk.connect()                  # a real Redis of your own, or the fake
queue = jk.Queue(redis, "mail")
worker = jk.Worker(queue)

@worker.task
def receipt(job, to):
    print("a receipt for", to)

queue.submit("receipt", {"to": "ada@example.org"}, delay=5)
worker.drain()
"""

import logging

from jobkit.answers import Counts, DeadLetter, Promoted, Recovered, Submitted
from jobkit.backoff import Backoff, Decorrelated, Exponential, Table, additive, equal, full, none, proportional
from jobkit.clock import Clock, VirtualClock, new_rng
from jobkit.connect import connect
from jobkit.errors import (
    BackoffError,
    Cancelled,
    ConfigError,
    DelayError,
    JobError,
    JobkitError,
    LeaseLost,
    Permanent,
    RetryAfter,
    RunTooLong,
    ServerUnavailable,
    StaleClaim,
    UnknownJob,
    UnknownTask,
    UnsafeServer,
    WrongState,
)
from jobkit.history import Event
from jobkit.job import Claim, Job, State
from jobkit.outcome import Outcome
from jobkit.queue import Queue
from jobkit.ready import Streams
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker

logging.getLogger("jobkit").addHandler(logging.NullHandler())  # silent until asked: see jobkit.show_log
