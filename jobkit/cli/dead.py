"""`jobkit dead`: the jobs that were given up. List them, look into one, give them another life, or drop them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import click

from jobkit.answers import DeadLetter
from jobkit.cli.common import as_json, missed, now, opened, server
from jobkit.cli.show import as_record, as_text
from jobkit.cli.text import moment, note, shown, table
from jobkit.clock import spoken, to_ms
from jobkit.errors import ConfigError, UnknownJob
from jobkit.logs import counted, plain

KEEP: dict[str, Any] = {"history_max": 1000}
"""A requeue shortens a history to what its queue keeps; how much that is, only the application knows."""


@click.group(no_args_is_help=False)
def command() -> None:
    """List, show, requeue or purge the dead letters of a queue.

    An id is shown as the shell takes it, quoted where it must be. One that begins with - goes after --.
    """


@command.command("list", short_help="List the dead letters, the newest first.")
@click.argument("queue")
@server
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 10_000), help="How many at most.")
@click.option("--offset", default=0, type=click.IntRange(0), help="How many to pass over first.")
@as_json
def list_letters(queue: str, url: str | None, prefix: str | None, limit: int, offset: int, as_json: bool) -> None:
    """List the dead letters of QUEUE, the newest first."""
    with opened(queue, url, prefix) as q:
        letters, counts, at = q.dead(limit, offset), q.counts(), now(q)
        missed(q, counts)
    total = counts.dead
    if as_json:
        rows = [record(letter) for letter in letters]
        click.echo(json.dumps({"queue": queue, "total": total, "offset": offset, "letters": rows}, indent=1))
        return
    if letters:
        heads = ("id", "task", "runs", "dead for", "why")
        click.echo(table(heads, [row(letter, at) for letter in letters], right=("runs", "dead for")))
    elif counts.totals:
        note(f"no dead letters in {shown(queue)}" + (f" after the first {total:,}" if total else ""))
    if letters and total > offset + len(letters):
        note(f"{len(letters)} of {total:,}; the next: --offset {offset + len(letters)}")


def row(letter: DeadLetter, at: int) -> tuple[str, ...]:
    """One line of the table."""
    runs = str(letter.last.attempt) if letter.last else ""
    return shown(letter.id), plain(letter.task), runs, spoken(max(0, at - letter.buried)), plain(why(letter))


def why(letter: DeadLetter) -> str:
    """Why it was given up, in a line."""
    if letter.last is None:
        return "its record is gone"
    return ": ".join(filter(None, (letter.last.error.get("type"), letter.last.error.get("message"))))


def record(letter: DeadLetter) -> dict[str, Any]:
    """One dead letter for a program to read; `error` is null where its record is gone."""
    last = letter.last
    error = None if last is None else {name: last.error.get(name) for name in ("type", "message")}
    return {
        "id": letter.id,
        "task": letter.task,
        "runs": last.attempt if last else None,
        "replays": letter.replays,
        "buried": moment(letter.buried),
        "error": error,
    }


@command.command("show", short_help="Show a job, dead or not: fields, payload, all that happened.")
@click.argument("queue")
@click.argument("id")
@server
@as_json
def show(queue: str, id: str, url: str | None, prefix: str | None, as_json: bool) -> None:
    """Show the job ID of QUEUE, dead or not: its fields, its payload, and all that happened to it."""
    with opened(queue, url, prefix) as q:
        job, events, at = q.get(id), q.history(id), now(q)
    click.echo(json.dumps(as_record(job, events), indent=1) if as_json else as_text(job, events, at))


@command.command("requeue", short_help="Give dead letters another life.")
@click.argument("queue")
@click.argument("ids", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All of them; it asks first.")
@click.option("--over", default=0.0, metavar="SECONDS", help="Spread them evenly over this time [default: at once].")
@click.option("--yes", is_flag=True, help="Do not ask.")
@server
def requeue(
    queue: str, ids: tuple[str, ...], every: bool, over: float, yes: bool, url: str | None, prefix: str | None
) -> None:
    """Give dead letters of QUEUE another life: payload and history stay, attempts start anew."""
    one_of({"ids": bool(ids), "--all": every})
    seconds = to_ms(over, "--over") / 1000
    with opened(queue, url, prefix, **KEEP) as q:
        if every and not agreed(f"Requeue all {{}} of {shown(queue)}?", q.counts().dead, yes):
            return
        answers = q.requeue(*dict.fromkeys(ids), over=seconds)
    moved = sum(answer == "requeued" for answer in answers.values())
    click.echo(f"{counted(moved, 'dead letter')} requeued" + (f", over {spoken(seconds * 1000)}" if seconds else ""))
    refuse("requeued", {id: answer for id, answer in answers.items() if answer != "requeued"})


@command.command("purge", short_help="Drop dead letters for good.")
@click.argument("queue")
@click.argument("ids", nargs=-1)
@click.option("--all", "every", is_flag=True, help="All of them; it asks first.")
@click.option("--older-than", "age", type=float, metavar="SECONDS", help="All that have been dead for longer.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@server
def purge(
    queue: str, ids: tuple[str, ...], every: bool, age: float | None, yes: bool, url: str | None, prefix: str | None
) -> None:
    """Drop dead letters of QUEUE for good, with their payload and history."""
    one_of({"ids": bool(ids), "--all": every, "--older-than": age is not None})
    if age is not None and to_ms(age, "--older-than") == 0:
        raise ConfigError("--older-than wants more than 0 seconds: to drop them all, say --all")
    with opened(queue, url, prefix) as q:
        if every and not agreed(f"Drop all {{}} of {shown(queue)} for good?", q.counts().dead, yes):
            return
        named = list(dict.fromkeys(ids))
        there = q.redis.zmscore(q.keys.dead, named) if named else []
        unknown = {id: "no dead letter" for id, score in zip(named, there, strict=True) if score is None}
        dropped = q.purge(*named, older_than=age)
    click.echo(f"{counted(dropped, 'dead letter')} dropped")
    refuse("dropped", unknown)


def one_of(given: Mapping[str, bool]) -> None:
    """Refuse a command that does not say which dead letters it means, or says it twice."""
    if sum(given.values()) != 1:
        said = " and ".join(name for name, there in given.items() if there) or "nothing"
        raise click.UsageError(f"which dead letters? Give one of {', '.join(given)}; got {said}")


def agreed(question: str, total: int, yes: bool) -> bool:
    """Ask before something is done to all. Raises ConfigError where nobody can answer; a no is exit status 1."""
    if not total:
        note("no dead letters: nothing to do")
        return False
    if yes:
        return True
    click.echo(f"{question.format(counted(total, 'dead letter'))} [y/N] ", nl=False, err=True)
    answer = sys.stdin.readline() if sys.stdin else ""
    if not answer:
        click.echo(err=True)
        raise ConfigError("nobody answers here: --all needs --yes")
    if answer.strip().lower() in {"y", "yes"}:
        return True
    note("nothing was changed")
    raise SystemExit(1)


def refuse(verb: str, refused: Mapping[str, str]) -> None:
    """Say of which ids nothing came, in one line and with exit status 2."""
    if refused:
        names = [f"{shown(id)} ({answer})" for id, answer in list(refused.items())[:5]]
        more = f" and {len(refused) - 5:,} more" if len(refused) > 5 else ""
        raise UnknownJob(f"not {verb}: {', '.join(names)}{more}")
