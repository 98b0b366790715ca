"""`jobkit stats`: how many jobs are where, and since when."""

from __future__ import annotations

import json

import click

from jobkit.answers import Counts
from jobkit.cli.common import as_json, missed, now, opened, server
from jobkit.cli.text import table
from jobkit.clock import spoken
from jobkit.queue import Queue

STATES = ("scheduled", "waiting", "ready", "running", "dead")
TOTALS = (
    "submitted", "occurred", "missed", "done", "retried", "recovered", "released", "cancelled", "dead", "dropped",
    "requeued",
)  # fmt: skip
"""In the order of a job's life; a total that this version does not know comes after them."""


@click.command
@click.argument("queue")
@server
@as_json
def command(queue: str, url: str | None, prefix: str | None, as_json: bool) -> None:
    """Show how many jobs of QUEUE are in each state, and what happened since its first one.

    Durations in the JSON are seconds.
    """
    with opened(queue, url, prefix) as q:
        counts = q.counts()
        oldest = age_of_oldest(q, counts.dead)
        missed(q, counts)
    totals = sorted(counts.totals, key=lambda name: (TOTALS.index(name) if name in TOTALS else len(TOTALS), name))
    if as_json:
        answer = {"queue": queue, "prefix": q.keys.prefix, "store": q.store.kind} | {
            state: getattr(counts, state) for state in STATES
        }
        answer |= {"lost": counts.lost, "next_due_in": counts.wait, "oldest_dead_for": oldest}
        answer |= {"totals": {name: counts.totals[name] for name in totals}}
        click.echo(json.dumps(answer, indent=1))
        return
    remarks = {"scheduled": next_due(counts), "dead": "" if oldest is None else f"the oldest for {say(oldest)}"}
    shown = [state for state in STATES if state != "waiting" or counts.waiting]
    rows = [(state, f"{getattr(counts, state):,}", remarks.get(state, "")) for state in shown]
    if counts.lost:
        rows.append(("lost", f"{counts.lost:,}", "a key of the queue is gone: Queue.repair() looks for them"))
    click.echo(table(("now", "jobs", ""), rows, right=("jobs",)))
    if totals:
        rows = [(name, f"{counts.totals[name]:,}", "") for name in totals]
        click.echo("\n" + table(("ever", "jobs", ""), rows, right=("jobs",)))


def say(seconds: float) -> str:
    """Say a duration as a person would."""
    return spoken(seconds * 1000)


def next_due(counts: Counts) -> str:
    """When the next scheduled job is due."""
    if counts.wait is None:
        return ""
    return f"the next is due in {say(counts.wait)}" if counts.wait else "due now: a scheduler will move them"


def age_of_oldest(queue: Queue, dead: int) -> float | None:
    """For how many seconds the oldest dead letter has been one, by the server's clock."""
    letters = queue.dead(limit=1, offset=dead - 1) if dead else []
    return max(0.0, now(queue) - letters[0].buried) / 1000 if letters else None
