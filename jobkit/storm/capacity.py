"""How much it takes: workers, calls to Redis, memory, lateness, from a few figures of the problem.

Two laws carry it. Little: what is inside = rate x time spent inside. Erlang C: the chance that a
job finds all workers busy, if jobs come at random and run for random times (M/M/c).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from jobkit.backoff import Table
from jobkit.clock import Seconds, spoken
from jobkit.errors import ConfigError
from jobkit.logs import counted
from jobkit.storm import given
from jobkit.storm.queueing import coin_flip

DAY_S = 86_400
HEARTBEAT_S = 10
"""A worker extends its lease (30 s) every third of it."""


def erlang_c(servers: int, load: float) -> float:
    """The chance that a job has to wait: M/M/c with c = `servers`, `load` = rate x mean service time (erlang).

    1 if the load is no less than the servers. By the recursion of Erlang B, which neither overflows nor cancels.
    """
    servers = given.count(servers, "servers", 1, 10_000_000)
    load = given.number(load, "load", 0)
    if load >= servers:
        return 1.0
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked / (1 - load / servers * (1 - blocked))


def workers_for(load: float, wait: float = 0.2) -> int:
    """The fewest workers with which at most the share `wait` of the jobs has to wait."""
    wait = given.number(wait, "wait", 0, 1, above=True)
    servers = math.floor(given.number(load, "load", 0, 1e6)) + 1
    while erlang_c(servers, load) > wait:
        servers += 1
    return servers


@dataclass(frozen=True)
class Plan:
    """What it takes, figure by figure; `rows()` says how each comes about."""

    jobs_per_day: int
    per_s: float
    """Jobs per second, as a mean over the day."""
    peak_per_s: float
    burst_jobs: float
    """Jobs that fall due in the burst."""
    burst_per_s: float
    runs_per_job: float
    """Runs per job at the given failure rate, retries included."""
    worst_runs_per_day: int
    """Runs a day if every run fails."""
    horizon_s: float
    """From a job's first failure to its last retry, in the middle of the jitter."""
    parked: float
    """Jobs that wait for a retry if every run fails."""
    busy: float
    """Workers busy on average."""
    busy_peak: float
    workers: int
    """Workers with which at most the share `wait` of the jobs waits, on average and at the peak."""
    workers_peak: int
    wait: float
    late_p99_s: float
    """At the peak, with `workers_peak`: 99 % of the jobs start within this."""
    burst_takes_s: float
    """How long as many workers as are busy at the peak need for the burst."""
    redis_per_s: float
    """Scripts per second at the peak."""
    memory_mb: float
    """For a day's jobs, all pending at once (10^6 bytes)."""

    def rows(self) -> list[tuple[str, str, str]]:
        """What, how much, and how it comes about."""
        burst = counted(math.ceil(self.busy_peak), "worker")
        return [
            ("jobs per second, mean", f"{self.per_s:.1f}", f"{self.jobs_per_day:,} / {DAY_S:,}"),
            ("jobs per second, peak", f"{self.peak_per_s:,.0f}", "mean x peak factor"),
            ("jobs per second, burst", f"{self.burst_per_s:,.0f}", f"{self.burst_jobs:,.0f} jobs at once"),
            ("runs per job", f"{self.runs_per_job:.3f}", "(1 - f^(R+1)) / (1 - f)"),
            ("runs a day, if all fail", f"{self.worst_runs_per_day:,}", "jobs x (1 + retries)"),
            ("jobs parked, if all fail", f"{self.parked:,.0f}", f"Little: rate x {self.horizon_s:,.0f} s of retries"),
            ("workers busy, mean", f"{math.ceil(self.busy)}", f"Little: {self.busy:.1f} = runs per second x service"),
            ("workers busy, peak", f"{math.ceil(self.busy_peak)}", f"Little: {self.busy_peak:.1f}"),
            ("workers, mean", f"{self.workers}", f"Erlang C: at most {self.wait:.0%} of the jobs wait"),
            ("workers, peak", f"{self.workers_peak}", f"Erlang C: at most {self.wait:.0%} of the jobs wait"),
            ("late at the peak", spoken(1000 * self.late_p99_s), "99 % start within"),
            ("the burst is over after", spoken(1000 * self.burst_takes_s), f"with {burst}"),
            ("Redis scripts per second", f"{self.redis_per_s:,.0f}", "peak: submit, claim, settle, heartbeats, ticks"),
            ("memory, all pending", f"{self.memory_mb:,.0f} MB", "jobs x bytes per job"),
        ]

    def __repr__(self) -> str:
        widths = [max(len(row[i]) for row in self.rows()) for i in range(2)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c}" for a, b, c in self.rows())

    def _repr_html_(self) -> str:
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows())
        return f"<table><thead><tr><th>what</th><th>how much</th><th>why</th></tr></thead><tbody>{body}</tbody></table>"


def capacity(
    jobs_per_day: int = 500_000,
    *,
    service: Seconds = 2,
    peak: float = 10,
    failure: float = 0,
    retries: int = 4,
    policy: Any = None,
    burst: tuple[float, Seconds] = (0.2, 60),
    wait: float = 0.2,
    bytes_per_job: float = 900,
    tick: Seconds = 0.25,
) -> Plan:
    """Work out what a queue takes.

    `service`: how long a run takes. `peak`: the peak's rate over the mean. `failure`: the chance
    that a run fails; `policy` says when it is tried again (default 5 s, 30 s, 5 min, 1 h), at most
    `retries` times. `burst=(share, seconds)`: that share of a day's jobs falls due within so long.
    `wait`: the share of jobs that may have to wait for a worker. `tick`: the scheduler's, in
    seconds. Raises ConfigError.
    """
    jobs = given.count(jobs_per_day, "jobs_per_day", 1, 10**12)
    service_s = given.span_ms(service, "service", least=1) / 1000
    per_s = jobs / DAY_S
    peak_per_s = per_s * given.number(peak, "peak", 1)
    retries = given.count(retries, "retries", 0, 200)
    runs = coin_flip(given.number(failure, "failure", 0, 1), retries)
    if not isinstance(burst, tuple) or len(burst) != 2:
        raise ConfigError(f"burst is a pair (share, seconds), such as (0.2, 60), got {burst!r}")
    burst_jobs = jobs * given.number(burst[0], "the share of burst=(share, seconds)", 0, 1)
    burst_s = given.span_ms(burst[1], "the seconds of burst=(share, seconds)", least=1) / 1000
    horizon = _horizon_s(policy, retries)
    busy, busy_peak = per_s * runs * service_s, peak_per_s * runs * service_s
    workers_peak = workers_for(busy_peak, wait)
    waits = erlang_c(workers_peak, busy_peak)
    late = max(0.0, math.log(waits / 0.01) if waits else 0.0) / (workers_peak / service_s - peak_per_s * runs)
    beats = service_s // HEARTBEAT_S
    return Plan(
        jobs_per_day=jobs,
        per_s=per_s,
        peak_per_s=peak_per_s,
        burst_jobs=burst_jobs,
        burst_per_s=burst_jobs / burst_s,
        runs_per_job=runs,
        worst_runs_per_day=jobs * (1 + retries),
        horizon_s=horizon,
        parked=per_s * horizon,
        busy=busy,
        busy_peak=busy_peak,
        workers=workers_for(busy, wait),
        workers_peak=workers_peak,
        wait=wait,
        late_p99_s=late,
        burst_takes_s=burst_jobs * runs * service_s / math.ceil(busy_peak),
        redis_per_s=peak_per_s * (1 + runs * (2 + beats)) + 1000 / given.span_ms(tick, "tick", least=1),
        memory_mb=jobs * given.number(bytes_per_job, "bytes_per_job", 1) / 1e6,
    )


def _horizon_s(policy: Any, retries: int) -> float:
    """The sum of a policy's waits, each a mean over its jitter."""
    policy = Table(5, 30, 300, 3600) if policy is None else given.policy(policy)
    rng = np.random.default_rng(0)
    attempts = np.arange(1, retries + 1)
    if hasattr(policy, "delays"):
        return float(np.mean([policy.delays(attempts, rng).sum() for _ in range(2000)])) / 1000
    return float(sum(policy.delay(int(n), rng) for n in attempts)) / 1000
