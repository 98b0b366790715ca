"""`jobkit storm`: what a retry policy does to a downstream that failed, jitter by jitter."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from jobkit.backoff import Jitter

POLICIES = ("table", "exponential", "codily", "aws", "decorrelated")
COLUMNS = ("peak", "total_calls", "dead", "p99_s", "drained_s")


@click.command
@click.option("--jobs", default=10_000, show_default=True, help="How many jobs fail together.")
@click.option("--outage", default=60.0, show_default=True, help="How long the downstream is down, in s.")
@click.option("--capacity", default=200.0, show_default=True, help="Calls that it serves per second afterwards.")
@click.option("--policy", type=click.Choice(POLICIES), default="table", show_default=True, help="When to try again.")
@click.option("--jitter", default="none,proportional,full", show_default=True, metavar="NAME,...",
              help="none, proportional (+-20 %), equal, full, additive (up to 0.5 s).")  # fmt: skip
@click.option("--retries", default=4, show_default=True, help="Retries per job.")
@click.option("--window", default=1.0, show_default=True, help="The capacity is counted per so many s.")
@click.option("--poll", default=0.25, show_default=True, help="The scheduler's tick, in s; 0: none.")
@click.option("--collapse", type=(float, float), metavar="K T", help="More than K x capacity: down again for T s.")
@click.option("--workers", type=int, help="Only so many workers call; needs --service.")
@click.option("--service", type=float, help="How long a worker is busy with a call, in s.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same storm.")
@click.option("--json", "as_json", is_flag=True, help="A list with a row per jitter.")
@click.option("--png", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Draw it into a file.")
def command(*, policy: str, jitter: str, as_json: bool, png: Path | None, **setting: Any) -> None:
    """Let jobs fail together, and see what their retries do to what they call.

    The policies are those of the queue. table: 5 s, 30 s, 5 min, 1 h. exponential: 1 s, 2 s, 4 s up to 1 h.
    codily: 2 s, 4 s up to 60 s. aws: 10 ms, 20 ms up to 2 s. decorrelated: three times the last wait at most
    (it is its own jitter). The peak is the most retries in one second.
    """
    from jobkit.storm import compare

    table = compare({name: make(policy, name) for name in names(policy, jitter)}, **setting)
    if as_json:
        click.echo(
            json.dumps([{"jitter": row.name, **{c: getattr(row, c) for c in COLUMNS}} for row in table.rows], indent=2)
        )
    else:
        click.echo(repr(table))
    if png is not None:
        from jobkit import plot

        plot.storm(table).save(png)
        click.echo(f"drawn: {png}", err=True)


def names(policy: str, jitter: str) -> list[str]:
    """The jitters that were asked for, each once; a decorrelated policy has no other."""
    if policy == "decorrelated":
        return ["decorrelated"]
    asked = [name.strip() for name in jitter.split(",")]
    unknown = [name for name in asked if name not in jitters()]
    if unknown:
        raise click.BadParameter(f"jitter is one of {', '.join(jitters())}, got {unknown[0]!r}")
    return list(dict.fromkeys(asked))


def jitters() -> dict[str, Jitter]:
    """The jitters by name."""
    from jobkit import backoff

    return {
        "none": backoff.none,
        "proportional": backoff.proportional(0.2),
        "equal": backoff.equal,
        "full": backoff.full,
        "additive": backoff.additive(0.5),
    }


def make(policy: str, jitter: str) -> object:
    """The policy of that name, with that jitter."""
    from jobkit.backoff import Decorrelated, Exponential, Table

    makers: dict[str, Callable[[], object]] = {
        "table": lambda: Table(5, 30, 300, 3600, jitter=jitters()[jitter]),
        "exponential": lambda: Exponential(jitter=jitters()[jitter]),
        "codily": lambda: Exponential.counting_retries(jitter=jitters()[jitter]),
        "aws": lambda: Exponential.aws(jitter=jitters()[jitter]),
        "decorrelated": Decorrelated,
    }
    return makers[policy]()
