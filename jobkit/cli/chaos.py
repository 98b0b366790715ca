"""`jobkit chaos`: kill workers, and the server, and see what is left."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import click

from jobkit.cli.common import DESIGNS
from jobkit.cli.text import table

if TYPE_CHECKING:
    from jobkit.chaos import Report

ALL = "all"


@click.command(name="chaos")
@click.option("--workers", default=3, show_default=True, help="Worker processes at any time.")
@click.option("--jobs", default=500, show_default=True, help="Jobs to submit.")
@click.option("--kills", default=20, show_default=True, help="Workers to kill in mid-job.")
@click.option("--redis-restarts", default=0, show_default=True, help="Times to kill the server and start it again.")
@click.option("--cluster", is_flag=True, help="On a Redis Cluster: it is its masters that are killed then.")
@click.option("--store", default=DESIGNS[0], show_default=True, type=click.Choice([*DESIGNS, ALL]),
              help="The ready store; all: a campaign for each.")  # fmt: skip
@click.option("--shards", default=0, show_default="one queue", help="Shards that the queue is in.")
@click.option("--entities", type=int, show_default="8 per shard", help="Entities whose jobs must keep their order.")
@click.option("--schedulers", default=0, show_default="in the workers",
              help="Scheduler processes beside the workers; whoever leads is killed and paused, too.")  # fmt: skip
@click.option("--seed", default=1, show_default=True, help="Equal seeds make equal jobs.")
@click.option("--lease", default=2.0, show_default=True, help="Seconds until a dead worker's job is taken back.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per campaign, a line each.")
def command(store: str, as_json: bool, entities: int | None, **options: Any) -> None:
    """Kill random workers in mid-job, on a server of its own, and count what is left.

    Exits with 1 unless nothing was lost, every effect was applied once, those of an entity in order and
    one at a time, each occurrence of a schedule made once, and at least 90 % of the kills hit a handler at work.
    """
    from tqdm import tqdm

    from jobkit.chaos import Plan, campaign

    restarts, reports = options.pop("redis_restarts"), {}
    for name in DESIGNS if store == ALL else [store]:
        judged = 0 if options["cluster"] and restarts else 8 * options["shards"]
        plan = Plan(restarts=restarts, store=name, entities=judged if entities is None else entities, **options)
        with tqdm(total=plan.jobs, unit="job", desc=name, disable=None) as bar:
            reports[name] = campaign(plan, lambda settled, bar=bar: bar.update(settled - bar.n))  # type: ignore[misc]
        if as_json:
            facts = dataclasses.asdict(reports[name])
            click.echo(json.dumps({"store": name} | facts | {"holds": reports[name].holds}))
    if not as_json:
        click.echo(as_table(reports))
    if not all(report.holds for report in reports.values()):
        raise SystemExit(1)


def as_table(reports: dict[str, Report]) -> str:
    """Lay out campaigns side by side, a column for each."""
    from jobkit.chaos import verdict

    facts = {name: dataclasses.asdict(report) for name, report in reports.items()}
    rows = [(what, *(number(facts[name][what]) for name in reports)) for what in next(iter(facts.values()))]
    said = ("", *(verdict(report) for report in reports.values()))
    return table(("", *reports), [*rows, said], right=tuple(reports))


def number(value: float) -> str:
    """A count as it is, seconds to the tenth."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"
