"""`jobkit schedules`: what is to be done again and again. List, add, pause, resume, remove."""

from __future__ import annotations

import json
from typing import Any

import click

from jobkit.cli.common import as_json, now, opened, server
from jobkit.cli.text import moment, note, shown, table
from jobkit.clock import spoken
from jobkit.errors import JobError
from jobkit.logs import plain
from jobkit.recurring import Schedules
from jobkit.schedule import Schedule


@click.group(no_args_is_help=False)
def command() -> None:
    """List, add, pause, resume or remove the recurring schedules of a queue; `jobkit scheduler` fires them."""


@command.command("list", short_help="List the schedules, the next due first.")
@click.argument("queue")
@server
@as_json
def list_schedules(queue: str, url: str | None, prefix: str | None, as_json: bool) -> None:
    """List the schedules of QUEUE, the next due first, those that are paused or stopped last."""
    with opened(queue, url, prefix) as q:
        found, at = Schedules(q).all(), now(q)
    if as_json:
        click.echo(json.dumps({"queue": queue, "schedules": [record(one) for one in found]}, indent=1))
    elif found:
        heads = ("name", "task", "when", "made", "dropped", "next in")
        click.echo(table(heads, [row(one, at) for one in found], right=("made", "dropped")))
    else:
        note(f"no schedules in {shown(queue)}")


def row(schedule: Schedule, at: int) -> tuple[str, ...]:
    """One line of the table."""
    until = "" if schedule.due is None else spoken(max(0, schedule.due - at))
    state = f"stopped: {schedule.error}" if schedule.error else "paused" if schedule.paused else until
    name, task, when = shown(schedule.name), plain(schedule.job.task), plain(schedule.when)
    return name, task, when, f"{schedule.made:,}", f"{schedule.dropped:,}", plain(state)


def record(schedule: Schedule) -> dict[str, Any]:
    """What a program may want to know of a schedule; durations are seconds."""
    return {
        "name": schedule.name,
        "task": schedule.job.task,
        "cron": schedule.cron or None,
        "tz": schedule.tz,
        "every": schedule.every / 1000 or None,
        "catch_up": schedule.catch_up,
        "grace": schedule.grace / 1000,
        "last": moment(schedule.last),
        "next": None if schedule.due is None else moment(schedule.next),
        "made": schedule.made,
        "dropped": schedule.dropped,
        "paused": schedule.paused,
        "error": schedule.error or None,
    }


@command.command("add", short_help="Add a schedule, or replace the one of that name.")
@click.argument("queue")
@click.argument("name")
@click.argument("task")
@server
@click.option("--cron", metavar="EXPRESSION", help="Five fields: minute, hour, day of month, month, day of week.")
@click.option("--every", type=float, metavar="SECONDS", help="The interval, instead of --cron.")
@click.option("--tz", default="UTC", show_default=True, metavar="ZONE", help="The time zone of --cron.")
@click.option("--args", metavar="JSON", help="The handler's arguments, as a JSON object.")
@click.option("--catch-up", default="latest", show_default=True, metavar="POLICY",
              help="Of what was missed: skip, latest, or all:N.")  # fmt: skip
@click.option("--grace", default=60.0, show_default=True, metavar="SECONDS", help="So late is still on time.")
@click.option("--priority", default=0, show_default=True, help="From 0 to 9, where the ready store is lists.")
@click.option("--entity", help="Its jobs run one at a time, with others of that entity.")
@click.option("--max-attempts", type=int, metavar="N", help="[default: the queue's]")
def add(
    queue: str, name: str, task: str, url: str | None, prefix: str | None, args: str | None, **settings: Any
) -> None:
    """Add schedule NAME to QUEUE: TASK is submitted at each of its slots.

    Adding the same again changes nothing of how far it has come.
    """
    with opened(queue, url, prefix) as q:
        added = Schedules(q).add(name, task, arguments(args), **settings)
    click.echo(f"{shown(name)} {said(added)}")


def arguments(text: str | None) -> dict[str, Any] | None:
    """Read the arguments of a task. Raises JobError if they are no JSON object."""
    try:
        found = None if text is None else json.loads(text)
    except ValueError as error:
        raise JobError(f'--args is a JSON object, such as \'{{"to": "ada"}}\': {error}') from None
    if found is not None and not isinstance(found, dict):
        raise JobError(f'--args is a JSON object, such as \'{{"to": "ada"}}\'; got {text!r:.100}')
    return found


def said(schedule: Schedule) -> str:
    """When it is to occur next."""
    return "is paused" if schedule.due is None else f"is next due at {moment(schedule.next)}"


@command.command("pause", short_help="Let schedules rest.")
@click.argument("queue")
@click.argument("names", nargs=-1, required=True)
@server
def pause(queue: str, names: tuple[str, ...], url: str | None, prefix: str | None) -> None:
    """Let schedules NAMES of QUEUE rest, until they are resumed."""
    with opened(queue, url, prefix) as q:
        for name in names:
            click.echo(f"{shown(name)} {said(Schedules(q).pause(name))}")


@command.command("resume", short_help="Let paused or stopped schedules go on.")
@click.argument("queue")
@click.argument("names", nargs=-1, required=True)
@server
def resume(queue: str, names: tuple[str, ...], url: str | None, prefix: str | None) -> None:
    """Let schedules NAMES of QUEUE go on from now; what was due meanwhile is not made up for."""
    with opened(queue, url, prefix) as q:
        for name in names:
            click.echo(f"{shown(name)} {said(Schedules(q).resume(name))}")


@command.command("remove", short_help="Forget schedules.")
@click.argument("queue")
@click.argument("names", nargs=-1, required=True)
@server
def remove(queue: str, names: tuple[str, ...], url: str | None, prefix: str | None) -> None:
    """Forget schedules NAMES of QUEUE; the jobs that they made stay."""
    with opened(queue, url, prefix) as q:
        for name in names:
            Schedules(q).remove(name)
            click.echo(f"{shown(name)} is removed")
