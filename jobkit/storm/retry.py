"""The retry storm: many jobs fail together, and come back."""

from __future__ import annotations

from typing import Any

from jobkit.clock import Seconds
from jobkit.errors import ConfigError
from jobkit.storm import given
from jobkit.storm.draw import retry_times
from jobkit.storm.pool import Pool, serve_by
from jobkit.storm.result import Setting, Storm
from jobkit.storm.window import Downstream, serve

MOST_JOBS = 100_000_000


def storm(
    policy: Any,
    jobs: int = 10_000,
    *,
    outage: Seconds = 60,
    capacity: float = 200,
    window: Seconds = 1.0,
    poll: Seconds = 0.25,
    retries: int = 4,
    collapse: tuple[float, Seconds] | None = None,
    workers: int | None = None,
    service: Seconds | None = None,
    seed: given.Chance = 0,
    name: str | None = None,
) -> Storm:
    """Let `jobs` jobs fail at t = 0, and see what their retries do to a downstream that was down.

    It is down on [0, outage) and then serves `capacity` calls a second, counted per `window`: the
    first capacity x window calls of a window, in the order of (time, job), and no more. A job that
    is refused waits as `policy` says, a policy of the queue (`jobkit.Table`, `jobkit.Exponential`
    ...), and is dead after `retries` retries. Retries start at the scheduler's ticks, every `poll`
    (0: at once). All durations are seconds.

    `collapse=(k, T)`: more than k x capacity x window calls in a window are served not at all, and
    the downstream is down again for T from that window's start. `workers=, service=`: only so
    many workers call, each busy for `service` with a call (see `jobkit.storm.pool`).

    `seed` reproduces everything. It may be a `random.Random`: then the waits are drawn with
    `policy.delay`, job after job, as one worker draws them. Raises ConfigError.
    """
    given.policy(policy)
    jobs = given.count(jobs, "jobs", 1, MOST_JOBS)
    retries = given.count(retries, "retries", 1, 200)
    rng = given.chance(seed)
    poll_ms = given.span_ms(poll, "poll")
    downstream = _downstream(outage, capacity, window, collapse)
    pool = _pool(workers, service, downstream)
    if pool is None:
        times = retry_times(policy, jobs, retries, rng, poll_ms)
        served, knocked = serve(times, downstream)
    else:
        times, served, knocked = serve_by(
            pool, downstream, policy, jobs=jobs, retries=retries, rng=rng, poll_ms=poll_ms
        )
    setting = Setting(jobs, retries, downstream, pool, poll_ms, float(capacity))
    return Storm(name or given.label(policy), setting, times, served, tuple(knocked))


def _downstream(
    outage: Seconds, capacity: float, window: Seconds, collapse: tuple[float, Seconds] | None
) -> Downstream:
    rate = given.number(capacity, "capacity", 0, 1e9, above=True)
    window_ms = given.span_ms(window, "window", least=1)
    outage_ms = given.span_ms(outage, "outage")
    per_window = int(rate * window_ms / 1000 + 1e-9)
    if per_window < 1:
        raise ConfigError(
            f"capacity x window must allow at least one call, got {capacity!r} a second in windows of {window!r} s"
        )
    if collapse is None:
        return Downstream(outage_ms, window_ms, per_window)
    if not isinstance(collapse, tuple) or len(collapse) != 2:
        raise ConfigError(
            f"collapse is a pair (k, T), such as (2, 30): more than k x capacity, down for T s; got {collapse!r}"
        )
    k = given.number(collapse[0], "the k of collapse=(k, T)", 1)
    down_ms = given.span_ms(collapse[1], "the T of collapse=(k, T)", least=1)
    return Downstream(outage_ms, window_ms, per_window, int(k * per_window + 1e-9), down_ms)


def _pool(workers: int | None, service: Seconds | None, downstream: Downstream) -> Pool | None:
    if workers is None and service is None:
        return None
    if workers is None or service is None:
        raise ConfigError(f"workers and service go together, got workers={workers!r}, service={service!r}")
    pool = Pool(given.count(workers, "workers", 1, 1_000_000), given.span_ms(service, "service", least=1))
    if downstream.limit is not None and pool.service_ms < downstream.window_ms:
        raise ConfigError(
            f"with a collapse, service must be at least the window ({downstream.window_ms / 1000:g} s): "
            f"a call must not be answered before its window's fate is known; got {service!r}"
        )
    return pool
