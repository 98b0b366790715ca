"""Every key that the kit owns.

All keys of a queue share one hash tag, `{queue}`, so that a Redis Cluster keeps them on one node
and one script may touch them all. A job's record is `job` + id: the id stands after the tag, so
that even an id full of braces changes nothing.

    <prefix>{queue}:delayed   zset    id -> when it is due (ms)
    <prefix>{queue}:ready     stream  entries with the field `id`, read by the group `workers`; or a list of
                                      ids; or, of design B, ready:9 ... ready:0, a list per priority
    <prefix>{queue}:alone     the same, for jobs whose lease ran out: handed out one at a time
    <prefix>{queue}:leases    zset    id -> when its lease ends (ms), where the store is no stream
    <prefix>{queue}:lanes     hash    entity -> the id of the one job of it that does not wait
    <prefix>{queue}:waiting   zset    who waits behind another job of its entity: <bytes>:<entity>:<place>:<id>
    <prefix>{queue}:store     string  which ready store it has: the first submit says it
    <prefix>{queue}:dead      zset    id -> when it was buried (ms)
    <prefix>{queue}:totals    hash    what only ever grows: submitted, done, retried, ...
    <prefix>{queue}:lateness  hash    how late jobs started: a sum (ms), and how many up to each bound
    <prefix>{queue}:tokens    string  the last fencing token
    <prefix>{queue}:job:<id>  hash    the job's record
    <prefix>{queue}:leader    string  who leads the schedulers; expires with the lease
    <prefix>{queue}:terms     string  the fencing number of the newest leader
    <prefix>{queue}:schedules zset    name of a recurring schedule -> when it is due next (ms); inf: not at all
    <prefix>{queue}:schedule:<name>  hash  its record
    <prefix>{queue}:bell      channel rung when a sleeper should look

and, of `jobkit.ready.buckets`, which is no part of a queue,

    <prefix>{queue}:bucket:<minute>  zset  id -> when it is due (ms), for the ids of that minute
    <prefix>{queue}:minutes          zset  the minutes that have a bucket -> their start (ms)
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

from jobkit.errors import ConfigError

GROUP = "workers"
"""The consumer group of the streams."""

TIMED_ZSETS = ("delayed", "leases", "dead", "schedules", "minutes")
"""The sorted sets whose scores are moments (ms): what `advance` on a live server shifts."""

TIME_FIELDS = ("created", "run_at", "started", "ended")
"""The fields of a record that are moments (ms). Its `history:<n>` fields begin with two more,
separated by a space."""

PRIORITIES = range(9, -1, -1)
"""From the most urgent to the least, which is the default."""

NAME_BYTES = 200
"""The longest name of a queue, in bytes."""


def shard(text: str, n: int) -> int:
    """Return the number of the shard for a text, 0 to n - 1: the CRC-32 of its bytes in UTF-8, modulo n.

    The same in every process, on every machine, in every language: CRC-32 is that of zip, PNG and
    Ethernet. Python's `hash` is another one in each process, and Java's `hashCode` can be negative.
    """
    return zlib.crc32(text.encode()) % n


def route(id: str) -> str:
    """Return what of an id decides in which shard its job is: what stands in its first braces, else all of it.

    It is the rule of Redis Cluster's hash tags: `{ada}order-17` is where all of `ada` is.
    """
    _, opened, rest = id.partition("{")
    inside, closed, _ = rest.partition("}")
    return inside if opened and closed and inside else id


_NAMES = (
    "delayed", "ready", "alone", "leases", "lanes", "waiting", "store", "dead", "totals", "lateness", "tokens",
    "leader", "terms", "schedules", "bell", "minutes",
)  # fmt: skip


@dataclass(frozen=True)
class Keys:
    """The keys of one queue: attributes hold the full names."""

    queue: str
    prefix: str = ""
    delayed: str = field(init=False)
    ready: str = field(init=False)
    alone: str = field(init=False)
    leases: str = field(init=False)
    lanes: str = field(init=False)
    waiting: str = field(init=False)
    store: str = field(init=False)
    dead: str = field(init=False)
    totals: str = field(init=False)
    lateness: str = field(init=False)
    tokens: str = field(init=False)
    leader: str = field(init=False)
    terms: str = field(init=False)
    schedules: str = field(init=False)
    job: str = field(init=False)
    """The prefix of the records: a record is `keys.job + id`."""
    schedule: str = field(init=False)
    """The prefix of the schedules' records: a record is `keys.schedule + name`."""
    bell: str = field(init=False)
    bucket: str = field(init=False)
    """The prefix of the buckets: a bucket is `keys.bucket + minute`."""
    minutes: str = field(init=False)

    def __post_init__(self) -> None:
        text = isinstance(self.queue, str) and isinstance(self.prefix, str)
        bytes_of_name = self.queue.encode("utf-8", "replace") if text else b""
        if not 1 <= len(bytes_of_name) <= NAME_BYTES or bytes_of_name.decode() != self.queue:
            raise ConfigError(f"a queue's name is text of 1 to {NAME_BYTES} bytes in UTF-8, got {self.queue!r:.300}")
        if "{" in self.queue or "}" in self.queue:
            raise ConfigError(f"a queue's name has no braces: they mark the hash tag, got {self.queue!r}")
        if self.prefix.encode("utf-8", "replace").decode() != self.prefix:
            raise ConfigError(f"a prefix is text in UTF-8, got {self.prefix!r:.300}")
        if "{" in self.prefix or "}" in self.prefix:
            raise ConfigError(f"a prefix has no braces: they mark the hash tag, got {self.prefix!r}")
        for name in _NAMES:
            object.__setattr__(self, name, f"{self.prefix}{{{self.queue}}}:{name}")
        for name in ("job", "schedule", "bucket"):
            object.__setattr__(self, name, f"{self.prefix}{{{self.queue}}}:{name}:")

    def priority(self, priority: int) -> str:
        """Return the list of ready jobs of one priority, of the store `Lists`."""
        return f"{self.ready}:{priority}"
