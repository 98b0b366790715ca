"""`jobkit explore FILE.py`: every order of a file's workers, held against the file's promises."""

from __future__ import annotations

import inspect
import json
import runpy
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from jobkit.errors import ConfigError, JobkitError

if TYPE_CHECKING:
    from jobkit.explore import Report


class Bound(click.ParamType):  # type: ignore[type-arg]  # generic only since click 8.5
    """A whole number from 0, or `all`."""

    name = "N|all"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Turn the text into a number; `all` stays, since None means that nothing was said."""
        return "all" if value == "all" else click.IntRange(0).convert(value, param, ctx)


@click.command
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--crashes", type=click.IntRange(0), help="How many workers may die.")
@click.option("--lost-replies", type=click.IntRange(0), help="How many replies may be lost.")
@click.option("--bound", type=Bound(), help="Switches, crashes, losses and jumps at most; `all`: every schedule.")
@click.option("--schedules", type=click.IntRange(1), help="Run so many at most.")
@click.option("--seed", type=int, help="Draw the schedules at random.")
@click.option("--schedule", help="Run this one, as a report gave it: ABBBAA.")
@click.option("--live", is_flag=True, help="On a private Redis instead of a fake.")
@click.option("--svg", type=click.Path(dir_okay=False, writable=True, path_type=Path), help="Draw the failure.")
@click.option("--json", "as_json", is_flag=True, help="The report as one object.")
def command(*, file: Path, live: bool, svg: Path | None, as_json: bool, **options: Any) -> None:
    """Run the workers of FILE one Redis command at a time, in every order, and hold its promises against each.

    FILE is Python. It has `workers`, a list of functions f(r) or f(r, w), and what else
    jobkit.explore.explore takes, under the same names: given, finally_, always, never, after_crash,
    crashes, ... An option given here counts more.

    Exit status: 0 if no schedule fails, 1 if one does, 2 for a mistake.
    """
    workers, settings = read(file)
    settings |= {name: None if value == "all" else value for name, value in options.items() if value is not None}
    report = run(workers, settings, live=live)
    click.echo(json.dumps(report.to_dict(), indent=2) if as_json else str(report))
    if svg is not None:
        svg.write_text(report.svg(), "utf-8")
        click.echo(f"drawn: {svg}", err=True)
    if not report:
        raise SystemExit(1)


def run(workers: list[Any], settings: dict[str, Any], *, live: bool) -> Report:
    """Explore, on the fake or on a private server."""
    from jobkit.explore import explore

    if not live:
        return explore(*workers, **settings)
    from jobkit.connect import PrivateServer

    with PrivateServer() as server, server.client() as redis:
        return explore(*workers, **settings, redis=redis)


def read(file: Path) -> tuple[list[Any], dict[str, Any]]:
    """Run a file; return its workers and the settings that it names. Raises ConfigError, with the line."""
    from jobkit.cli.worker import place
    from jobkit.explore import explore

    sys.path.insert(0, str(file.resolve().parent))
    try:
        names = runpy.run_path(str(file))
    except JobkitError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a file may raise is its author's to mend
        raise ConfigError(f"{file} cannot be run: {place(error, str(file.resolve().parent))}") from None
    finally:
        sys.path.pop(0)
    workers = names.get("workers")
    if not isinstance(workers, list | tuple) or not workers:
        raise ConfigError(f"{file} has no list `workers`: workers = [claim, claim] would run two")
    if not any(names.get(promise) for promise in ("finally_", "always", "never")):
        raise ConfigError(f"{file} has no promise: name it finally_, always or never")
    known = inspect.signature(explore).parameters.keys() - {"workers", "redis"}
    return list(workers), {name: names[name] for name in known & names.keys()}
