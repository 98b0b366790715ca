"""What a campaign is to do, and what it found."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from jobkit.connect import Connected
from jobkit.errors import ConfigError
from jobkit.leader import Leader
from jobkit.once import effect_key
from jobkit.queue import Queue
from jobkit.ready import store_of
from jobkit.shards import ShardedQueue

QUEUE = "chaos"
LEASE = "JOBKIT_CHAOS_LEASE"
"""The environment variable that tells the workers the lease."""
STORE = "JOBKIT_CHAOS_STORE"
"""The one that tells them the ready store."""
SHARDS = "JOBKIT_CHAOS_SHARDS"
"""The one that tells them the number of shards; 0: an ordinary queue."""
SCHEDULERS = "JOBKIT_CHAOS_SCHEDULERS"
"""The one that tells them how many schedulers there are beside them; 0: they schedule by themselves."""


@dataclass(frozen=True)
class Plan:
    """How many of what. Times are seconds; equal seeds give equal jobs, and kills at the same progress."""

    workers: int = 3
    jobs: int = 500
    kills: int = 20
    restarts: int = 0
    """Kills of the server, which is started again; on a cluster, of the master that holds a shard, by turns."""
    cluster: bool = False
    """On a Redis Cluster of its own. There half of the jobs are submitted just before the masters die."""
    seed: int = 1
    store: str = "streams"
    """The ready store: streams, lists or leases."""
    lease: float = 2.0
    shards: int = 0
    """In how many shards the queue is; 0: an ordinary queue."""
    entities: int = 0
    """Among how many entities the jobs are shared out, whose order is then judged; 0: none has one."""
    schedulers: int = 0
    """Schedulers beside the workers: whoever leads fires a schedule each second. 0: the workers' own, without one."""
    patience: float = 60.0
    """How long nothing may happen before the campaign gives up; what is then not done is lost."""

    def __post_init__(self) -> None:
        store_of(self.store)
        for name, least, most in (
            ("workers", 1, 64),
            ("jobs", 1, 1_000_000),
            ("kills", 0, 10_000),
            ("restarts", 0, 100),
            ("shards", 0, 1024),
            ("entities", 0, 100_000),
            ("schedulers", 0, 64),
        ):
            value = getattr(self, name)
            if not least <= value <= most:
                raise ConfigError(f"{name} is a number from {least} to {most}, got {value}")
        if self.cluster and self.restarts > 20:
            raise ConfigError("a cluster needs seconds for each failover: at most 20 masters are killed")
        if self.cluster and self.restarts and self.entities:
            raise ConfigError("what a failover forgets may be an order, too: with dying masters no entities are judged")
        if self.schedulers == 1:
            raise ConfigError("one scheduler has nobody to take over from it: take none, or two")
        if self.kills + self.restarts > self.jobs:
            raise ConfigError("each kill and each restart needs a job of its own to interrupt: take more jobs")

    @property
    def leaders_hit(self) -> int:
        """How many leaders are killed, and how many are paused: one of each for five kills of workers, at least one."""
        return max(1, self.kills // 5) if self.schedulers else 0


@dataclass(frozen=True)
class Report:
    """What was left. `holds` is the verdict."""

    submitted: int
    done: int
    dead: int
    lost: int
    """Jobs that Redis knew at the end, and were not settled: the one number that must be 0."""
    forgotten: int
    """Jobs that a master of the cluster took, said so, and died before its replica had them: lost by
    asynchronous replication, and not by the kit. On a single server each command is on disk first."""
    runs: int
    extra_runs: int
    """Runs begun, less the jobs that were begun at all, less the retries of runs that failed as planned."""
    double_effects: int
    """Jobs whose effect stands in Redis more than once."""
    missing_effects: int
    """Jobs that are done, without their effect."""
    kills: int
    kills_in_flight: int
    """Kills that hit a worker with a handler at work; the others prove nothing."""
    restarts: int
    replaced: int
    """Workers that ended by themselves, and were started again: a server that was away when they began."""
    slowest_recovery_s: float
    """The longest time from a kill to the next start of a job that it hit."""
    overlaps: int = 0
    """Runs that began while another job of their entity was at work."""
    overtaken: int = 0
    """Effects that came before that of a job of their entity that was submitted earlier."""
    leaders_killed: int = 0
    leaders_paused: int = 0
    """Leaders that stood still until another led, and then went on."""
    slowest_takeover_s: float = 0.0
    """The longest time without a leader that was alive, from a kill or a pause on."""
    occurrences: int = 0
    """Slots of the schedule while the campaign lasted."""
    missing_occurrences: int = 0
    double_occurrences: int = 0
    """Jobs of the schedule beyond one per slot."""

    @property
    def holds(self) -> bool:
        """Whether the kit lost nothing, nothing is missing or doubled, no order changed, and the kills hit something.

        What a cluster forgot is not the kit's to keep: see `verdict`.
        """
        wrong = [self.lost, self.double_effects, self.missing_effects, self.overlaps, self.overtaken]
        wrong += [self.missing_occurrences, self.double_occurrences]
        return not any(wrong) and self.kills_in_flight >= 0.9 * self.kills


def verdict(report: Report) -> str:
    """Say in a few words whether it holds, and how many jobs the cluster forgot."""
    said = "holds" if report.holds else "DOES NOT HOLD"
    return f"{said}; {report.forgotten:,} forgotten by Redis" if report.forgotten else said


def queue_of(redis: Connected) -> Queue | ShardedQueue:
    """Make the queue of a campaign, as its environment variables say."""
    lease, store = float(os.environ.get(LEASE, "2")), store_of(os.environ.get(STORE, "streams"))
    settings: dict[str, Any] = {"ready": store, "lease": lease, "max_attempts": 100, "retention": 86_400}
    shards = int(os.environ.get(SHARDS, "0"))
    return ShardedQueue(redis, QUEUE, shards=shards, **settings) if shards else Queue(redis, QUEUE, **settings)


def log_key(queue: Queue | ShardedQueue, entity: str) -> str:
    """Return the key of the list of an entity's effects, in their order: in the shard of its jobs."""
    return effect_key(queue, f"{{{entity}}}log")


def pulse_of(redis: Connected) -> Queue:
    """Make the queue of a campaign's schedule: one of its own, since its jobs are counted, and not run."""
    return Queue(redis, f"{QUEUE}-pulse", ready=store_of(os.environ.get(STORE, "streams")), lease=3600)


def leader_of(pulse: Queue, name: str) -> Leader:
    """Make one who would lead the schedulers. Its lease is short, but outlasts two ticks (of lists: 2 s each)."""
    return Leader(pulse, name, lease=max(1.0, 2.5 * (pulse.store.every or 0)))
