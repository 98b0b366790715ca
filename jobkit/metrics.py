"""A queue's figures for Prometheus, read when it asks: nothing is counted in this process.

    registry.register(Collector({"mail": queue.stats}))     in a program that has a registry of its own
    jobkit metrics mail                                     a process for it

Needs the extra `jobkit[prometheus]`: importing this module without it raises ConfigError.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from redis.exceptions import RedisError

from jobkit.errors import ConfigError, JobkitError
from jobkit.stats import STATES, TOTALS, Lateness, Stats

try:
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
    from prometheus_client.registry import Collector as Base
except ImportError:
    raise ConfigError("metrics need prometheus-client: install jobkit[prometheus]") from None

log = logging.getLogger("jobkit.metrics")

HELP = {
    "submitted": "Jobs that were accepted.",
    "occurred": "Occurrences of recurring schedules that were turned into jobs.",
    "missed": "Occurrences of recurring schedules that were let go, since they were too late.",
    "done": "Jobs that were done.",
    "retried": "Failed runs that are tried again.",
    "recovered": "Runs whose lease was over: the worker died, or hung.",
    "released": "Runs that were given back unharmed.",
    "cancelled": "Jobs that were cancelled.",
    "dead": "Jobs that were given up.",
    "dropped": "Dead letters that were dropped for good.",
    "requeued": "Dead letters that were given another life.",
}


class Collector(Base):
    """Reads queues at each scrape: `sources` are a label for each, and how to measure it (`queue.stats`).

    Of a queue that cannot be read only `jobkit_up` is told, which is 0 then.
    """

    def __init__(self, sources: Mapping[str, Callable[[], Stats]]) -> None:
        self._sources = dict(sources)
        self._down: set[str] = set()

    def collect(self) -> Iterable[Metric]:
        """Measure every queue; no error leaves this method."""
        up = GaugeMetricFamily("jobkit_up", "Whether the queue could be read (1) or not (0).", labels=["queue"])
        found = {label: self._measure(label) for label in self._sources}
        for label, stats in found.items():
            up.add_metric([label], stats is not None)
        return [up, *_families({label: stats for label, stats in found.items() if stats is not None})]

    def _measure(self, label: str) -> Stats | None:
        try:
            stats = self._sources[label]()
        except (RedisError, JobkitError, OSError) as error:
            if label not in self._down:  # said once, not at every scrape
                log.warning("%s cannot be read (%s); jobkit_up is 0 until it can", label, error)
            self._down.add(label)
            return None
        if label in self._down:
            log.info("%s can be read again", label)
        self._down.discard(label)
        return stats


def _families(found: Mapping[str, Stats]) -> Iterable[Metric]:
    jobs = GaugeMetricFamily("jobkit_jobs", "Jobs that are in a state; lost: in none.", labels=["queue", "state"])
    oldest = GaugeMetricFamily(
        "jobkit_oldest_seconds",
        "Age of the oldest: scheduled and ready since it was due, dead since it was buried; 0 for none.",
        labels=["queue", "state"],
    )
    late = HistogramMetricFamily("jobkit_lateness_seconds", "How late due jobs started.", labels=["queue"])
    for label, stats in found.items():
        for state in (*STATES, "lost"):
            jobs.add_metric([label, state], getattr(stats, state))
        for state, age in (("scheduled", stats.overdue), ("ready", stats.oldest_ready), ("dead", stats.oldest_dead)):
            oldest.add_metric([label, state], age or 0.0)
        late.add_metric([label], _buckets(stats.lateness), stats.lateness.seconds)
    yield from (jobs, oldest, late)
    for name in TOTALS:
        total = CounterMetricFamily(f"jobkit_{name}", HELP[name], labels=["queue"])
        for label, stats in found.items():
            total.add_metric([label], stats.totals.get(name, 0))
        yield total


def _buckets(lateness: Lateness) -> list[tuple[str, float]]:
    """As Prometheus has them: each bucket counts what is in those before it, too."""
    so_far, buckets = 0, []
    for bound, n in sorted(lateness.buckets.items()):
        so_far += n
        buckets.append(("+Inf" if bound == math.inf else str(bound), float(so_far)))
    return buckets


class Endpoint(NamedTuple):
    """A page of metrics that is being served."""

    url: str
    close: Callable[[], None]


def serve(collector: Collector, port: int, address: str = "127.0.0.1") -> Endpoint:
    """Serve a collector at /metrics, in a thread; port 0 takes a free one. Raises ConfigError if it can't be had.

    Whoever reaches the address can read it: there is no password.
    """
    registry = CollectorRegistry()
    registry.register(collector)
    try:
        server, thread = start_http_server(port, address, registry)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"cannot listen on {address}, port {port} ({error})") from None

    def close() -> None:
        server.shutdown()
        server.server_close()
        thread.join()

    host = f"[{address}]" if ":" in address else address
    return Endpoint(f"http://{host}:{server.server_port}/metrics", close)
