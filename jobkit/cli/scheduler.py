"""`jobkit scheduler`: a process that moves due jobs, recovers lost ones, and fires recurring schedules."""

from __future__ import annotations

import logging
import signal
from types import FrameType

import click

from jobkit.cli.common import DESIGNS, listen, loudness, opened, server
from jobkit.leader import Leader
from jobkit.recurring import Schedules
from jobkit.scheduler import Scheduler

log = logging.getLogger("jobkit.scheduler")


@click.command
@click.argument("queue")
@server
@click.option("--floor", default=2.0, show_default=True, metavar="SECONDS", help="Longest sleep, if no bell rings.")
@click.option("--store", type=click.Choice(DESIGNS),
              help="Its ready store, if it has no job yet  [default: what it has, or else streams].")  # fmt: skip
@click.option("--lease", default=30.0, show_default=True, metavar="SECONDS", help="As the workers' Queue has it.")
@click.option("--dead-max", default=10_000, show_default=True, metavar="N", help="As the workers' Queue has it.")
@click.option("--dead-age", default=30 * 86_400.0, metavar="SECONDS",
              help="As the workers' Queue has it.  [default: 30 days]")  # fmt: skip
@click.option("--standby", is_flag=True, help="Promote and recover only while it leads: one scheduler is active.")
@click.option("--leader-lease", default=10.0, show_default=True, metavar="SECONDS",
              help="So long nobody leads after a leader has died.")  # fmt: skip
@loudness
def command(
    queue: str,
    url: str | None,
    prefix: str | None,
    floor: float,
    store: str | None,
    lease: float,
    dead_max: int,
    dead_age: float,
    standby: bool,
    leader_lease: float,
    level: str | None,
) -> None:
    """Make the due jobs of QUEUE ready, take back lost ones, and fire its schedules, until SIGTERM or Ctrl-C.

    A worker does the first two beside its work unless it has scheduler=None. More than one scheduler does no harm:
    one of them leads, and fires the schedules; if it dies, another one does.
    With streams, --lease must be that of the workers: with a shorter one, this process takes running jobs away
    from them. With lists it ticks every 2 s, and does not listen for the bell.
    """
    listen(level, who="scheduler")
    with opened(queue, url, prefix, store=store, lease=lease, dead_max=dead_max, dead_age=dead_age) as q:
        leader = Leader(q, lease=leader_lease)
        scheduler = Scheduler(q, floor=floor, recurring=Schedules(q), leader=leader, standby=standby)

        def stop(_signal: int, _frame: FrameType | None) -> None:
            scheduler.stop()

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            scheduler.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    log.info("scheduler of %s has stopped", queue)
