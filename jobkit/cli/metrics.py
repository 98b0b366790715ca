"""`jobkit metrics QUEUE...`: a page that Prometheus reads."""

from __future__ import annotations

import logging
import signal
import threading

import click

from jobkit.cli.common import gently, listen, loudness, open_redis, parts_of, queue_on, server
from jobkit.connect import without_retries
from jobkit.errors import ServerUnavailable
from jobkit.queue import Queue
from jobkit.stats import Stats

log = logging.getLogger("jobkit.metrics")

PORT = 9750


@click.command
@click.argument("queues", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--address", default="127.0.0.1", show_default=True, help="Where to listen; there is no password.")
@server
@loudness
def command(
    queues: tuple[str, ...], port: int, address: str, url: str | None, prefix: str | None, level: str | None
) -> None:
    """Serve the figures of each QUEUE at /metrics for Prometheus, until SIGTERM or Ctrl-C.

    They are read when Prometheus asks. While Redis is away, jobkit_up is 0, and this process stays.
    """
    from jobkit.metrics import Collector, serve

    listen(level, who="metrics")
    sources = {name: Source(name, url, prefix) for name in queues}
    with gently():
        for source in sources.values():
            source.try_once()
    stopped = threading.Event()
    before = {number: signal.signal(number, lambda *_: stopped.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    endpoint = serve(Collector(sources), port, address)
    try:
        log.info("serves %s", endpoint.url)
        stopped.wait()
    finally:
        endpoint.close()
        for number, handler in before.items():
            signal.signal(number, handler)
    log.info("has stopped")


class Source:
    """One queue, whole or in shards, opened when it can be: Redis may start later, and so may the queue."""

    def __init__(self, name: str, url: str | None, prefix: str | None) -> None:
        self._asked = name, url, prefix
        self._parts: list[Queue] = []

    def try_once(self) -> None:
        """Raise ConfigError for what waiting cannot mend: a name, a URL, a password."""
        try:
            self._parts = self._open()
        except ServerUnavailable as error:
            log.warning("%s; jobkit_up is 0 until it does", error)

    def _open(self) -> list[Queue]:
        # Each command is sent once: Prometheus does not wait for four tries.
        return parts_of(queue_on(without_retries(open_redis(*self._asked)), self._asked[0]))

    def __call__(self) -> Stats:
        """Measure it. Raises what went wrong."""
        parts = self._parts or self._open()
        self._parts = []
        found = Stats.sum([part.stats() for part in parts], queue=self._asked[0])
        if found.totals:  # else its first job is still to come, and says in which store, and in how many shards
            self._parts = parts
        return found
