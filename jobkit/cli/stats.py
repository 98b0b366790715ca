"""`jobkit stats`: how many jobs are where, since when, how late they start, and how fast they go."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from jobkit.cli.common import as_json, missed, opened, parts_of, server
from jobkit.cli.text import note, table
from jobkit.clock import Clock, spoken
from jobkit.logs import counted
from jobkit.queue import Queue
from jobkit.stats import STATES, TOTALS, Lateness, Meter, Rates, Reading, Stats

SHOWN = ("submitted", "done", "retried", "dead")
"""The rates that a line of many queues has room for."""


@click.command
@click.argument("queues", nargs=-1, required=True, metavar="QUEUE...")
@click.option("--watch", is_flag=True, help="Look again and again, until Ctrl-C, and show rates.")
@click.option("--every", default=2.0, show_default=True, type=click.FloatRange(0.1, 3600), metavar="SECONDS",
              help="Between two looks of --watch.")  # fmt: skip
@click.option("--looks", type=click.IntRange(1), metavar="N", help="End --watch after so many looks.")
@server
@as_json
def command(
    queues: tuple[str, ...],
    watch: bool,
    every: float,
    looks: int | None,
    url: str | None,
    prefix: str | None,
    as_json: bool,
) -> None:
    """Show how many jobs of QUEUE are in each state, and what happened since its first one.

    Of several queues, and of a queue in shards, each part has a line, and so has their sum. Durations in the JSON
    are seconds; with --watch each look is one line of it.
    """
    with contextlib.ExitStack() as stack:
        there = [part for name in queues for part in parts_of(stack.enter_context(opened(name, url, prefix)))]
        meter = Meter(there)
        readings = meter.look()
        for queue, reading in zip(there, readings, strict=False):
            missed(queue, reading.stats)
        write = (lambda found: as_object(there, found, indent=None if watch else 1)) if as_json else as_text
        show = stack.enter_context(screen()) if watch and not as_json else click.echo
        show(write(readings))
        for found in again(meter, every, (looks or sys.maxsize) - 1 if watch else 0):
            show(write(found))


def again(meter: Meter, every: float, times: int) -> Iterator[list[Reading]]:
    """Look so many times more; a look that Redis does not answer is said, and left out."""
    from redis.exceptions import ConnectionError as LostConnection
    from redis.exceptions import TimeoutError as TooLate

    clock = Clock()
    for _ in range(times):
        clock.sleep(every)
        try:
            yield meter.look()
        except (LostConnection, TooLate):
            note("Redis does not answer; the next look tries again")


@contextlib.contextmanager
def screen() -> Iterator[Callable[[str], object]]:
    """Where a watch is shown: on a terminal each look takes the place of the last one, in a pipe it follows it."""
    if not (sys.stdout and sys.stdout.isatty()):
        yield lambda text: click.echo(text + "\n")
        return
    from rich.live import Live
    from rich.text import Text

    with Live(auto_refresh=False) as live:
        yield lambda text: live.update(Text.from_ansi(text), refresh=True)


# -- for a person ----------------------------------------------------------------


def as_text(readings: Sequence[Reading]) -> str:
    """One queue in full, or many in a line each."""
    return in_full(*readings[0]) if len(readings) == 1 else in_lines(readings)


def in_full(stats: Stats, rates: Rates | None) -> str:
    """Say all of one queue."""
    remarks = {
        "scheduled": next_due(stats),
        "ready": since("the next has been due for", stats.oldest_ready),
        "dead": since("the oldest for", stats.oldest_dead),
    }
    rows = [(state, f"{getattr(stats, state):,}", remarks.get(state, "")) for state in shown([stats])]
    if stats.lost:
        rows.append(("lost", f"{stats.lost:,}", "a key of the queue is gone: Queue.repair() looks for them"))
    parts = [table(("now", "jobs", ""), rows, right=("jobs",))]
    if stats.totals:
        per_second = rates.per_second if rates else {}
        rows = [(name, f"{stats.totals[name]:,}", speed(per_second.get(name))) for name in ordered(stats.totals)]
        parts.append(table(("ever", "jobs", "per second" if rates else ""), rows, right=("jobs",)))
    lateness = rates.lateness if rates else stats.lateness
    if lateness.count:
        parts.append(starts(lateness) + (f" in {say(rates.seconds)}" if rates else ""))
    return "\n\n".join(parts)


def in_lines(readings: Sequence[Reading]) -> str:
    """Each queue in a line, and their sum in the last one."""
    states = (*shown([stats for stats, _ in readings]), "lost")
    heads = ("queue", *states, "due for", "99 % start by")
    rates = SHOWN if readings[0].rates else ()
    rows = []
    for stats, since_last in readings:
        lateness = since_last.lateness if since_last else stats.lateness
        cells = [stats.queue or "all", *(f"{getattr(stats, state):,}" for state in states)]
        cells += ["" if stats.oldest_due is None else say(stats.oldest_due), bound(lateness, 0.99)]
        cells += [speed(since_last.per_second.get(name, 0.0)) if since_last else "" for name in rates]
        rows.append(cells)
    numbers = (*heads[1:], *(f"{name}/s" for name in rates))
    return table((heads[0], *numbers), rows, right=numbers)


def shown(found: Sequence[Stats]) -> list[str]:
    """The states of a table: many queues have no entities, and nobody waits behind another."""
    return [state for state in STATES if state != "waiting" or any(stats.waiting for stats in found)]


def ordered(totals: Sequence[str] | Any) -> list[str]:
    """In the order of a job's life; a total that this version does not know comes last."""
    return sorted(totals, key=lambda name: (TOTALS.index(name) if name in TOTALS else len(TOTALS), name))


def say(seconds: float) -> str:
    """Say a duration as a person would."""
    return spoken(seconds * 1000)


def since(what: str, seconds: float | None) -> str:
    """Say for how long, or nothing."""
    return "" if seconds is None else f"{what} {say(seconds)}"


def speed(per_second: float | None) -> str:
    """Say how many per second."""
    return "" if per_second is None else f"{per_second:.3g}" if per_second < 1000 else f"{per_second:,.0f}"


def next_due(stats: Stats) -> str:
    """When the next scheduled job is due."""
    if stats.overdue is not None:
        return f"due for {say(stats.overdue)}: a scheduler will move them"
    return since("the next is due in", stats.wait)


def bound(lateness: Lateness, share: float) -> str:
    """Within which bound of the histogram so great a share of the starts was."""
    found = lateness.within(share)
    if found is None:
        return ""
    return say(found) if found < float("inf") else f"> {say(sorted(lateness.buckets)[-2])}"


def starts(lateness: Lateness) -> str:
    """Say how late jobs started."""
    mean = say(round(lateness.mean or 0.0, 3))
    return (
        f"{counted(lateness.count, 'start')}, late by {mean} in the mean; "
        f"half by {bound(lateness, 0.5)} at most, 99 % by {bound(lateness, 0.99)}"
    )


# -- for a program ----------------------------------------------------------------


def as_object(queues: Sequence[Queue], readings: Sequence[Reading], indent: int | None) -> str:
    """The same as JSON: one queue as an object, many as a list, with their sum."""
    parts = [as_record(reading) for reading in readings]
    for part, queue in zip(parts, queues, strict=False):
        part |= {"queue": queue.name, "prefix": queue.keys.prefix, "store": queue.store.kind}
    whole = parts[0] if len(parts) == 1 else {"queues": parts[:-1], "sum": parts[-1]}
    return json.dumps(whole, indent=indent)


def as_record(reading: Reading) -> dict[str, Any]:
    """One queue, or the sum, as plain data."""
    stats, rates = reading
    record: dict[str, Any] = {"queue": None, "prefix": None, "store": None}
    record |= {state: getattr(stats, state) for state in (*STATES, "lost")}
    record |= {"next_due_in": stats.wait, "overdue_for": stats.overdue}
    record |= {"oldest_ready_for": stats.oldest_ready, "oldest_dead_for": stats.oldest_dead}
    record |= {"totals": {name: stats.totals[name] for name in ordered(stats.totals)}, "lateness": late(stats.lateness)}
    if rates:
        record["since"] = {"seconds": rates.seconds, "per_second": rates.per_second, "lateness": late(rates.lateness)}
    return record


def late(lateness: Lateness) -> dict[str, Any]:
    """The histogram, without its empty buckets: how many starts were late by up to so many seconds."""
    buckets = {f"{bound:g}": n for bound, n in lateness.buckets.items() if n}
    return {"starts": lateness.count, "seconds": lateness.seconds, "by": buckets}
