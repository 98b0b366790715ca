"""`jobkit chaos`: kill workers, and the server, and see what is left."""

from __future__ import annotations

import dataclasses
import json

import click


@click.command(name="chaos")
@click.option("--workers", default=3, show_default=True, help="Worker processes at any time.")
@click.option("--jobs", default=500, show_default=True, help="Jobs to submit.")
@click.option("--kills", default=20, show_default=True, help="Workers to kill in mid-job.")
@click.option("--redis-restarts", default=0, show_default=True, help="Times to kill the server and start it again.")
@click.option("--seed", default=1, show_default=True, help="Equal seeds make equal jobs.")
@click.option("--lease", default=2.0, show_default=True, help="Seconds until a dead worker's job is taken back.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(**options: object) -> None:
    """Kill random workers in mid-job, on a server of its own, and count what is left.

    Exits with 1 unless nothing was lost, every effect was applied once, and at least 90 % of the
    kills hit a handler at work.
    """
    from tqdm import tqdm

    from jobkit.chaos import Plan, campaign

    as_json = options.pop("as_json")
    restarts = options.pop("redis_restarts")
    plan = Plan(restarts=restarts, **options)  # type: ignore[arg-type]  # click has made them what Plan says
    with tqdm(total=plan.jobs, unit="job", disable=None) as bar:
        report = campaign(plan, lambda settled: bar.update(settled - bar.n))
    facts = dataclasses.asdict(report)
    if as_json:
        click.echo(json.dumps(facts | {"holds": report.holds}))
    else:
        for name, value in facts.items():
            click.echo(f"{name:20} {value:>8g}")
        click.echo("holds" if report.holds else "DOES NOT HOLD")
    if not report.holds:
        raise SystemExit(1)
