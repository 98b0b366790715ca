"""`jobkit tour`: run the notebooks as a reader would, top to bottom, and say how it went."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path
from typing import Any

import click

from jobkit.cli import notebooks
from jobkit.cli.notebooks import Outcome
from jobkit.connect import connect
from jobkit.logs import counted


@click.command
@click.argument("names", nargs=-1, metavar="[NN]...")
@click.option("--to", type=click.Path(path_type=Path, file_okay=False), default=Path("tour"), show_default=True,
              help="Folder for the executed copies.")  # fmt: skip
@click.option("--timeout", default=300, show_default=True, metavar="SECONDS", help="Longest time for one cell.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, the progress on stderr.")
@click.option("--notebooks", "folder", type=click.Path(path_type=Path, file_okay=False), hidden=True,
              default=notebooks.FOLDER)  # fmt: skip
def command(names: tuple[str, ...], to: Path, timeout: int, as_json: bool, folder: Path) -> None:
    """Run the notebooks of these numbers, or all of them, without a browser.

    The originals stay as they are; executed copies land in a folder. Exit status 1 if one fails, or if
    nothing ran in one. JOBKIT_REDIS says which Redis they run on: fake, private or a URL.
    """
    paths = notebooks.find(names, folder=folder)
    notebooks.settle()
    to.mkdir(parents=True, exist_ok=True)
    server = connect().server  # which says so; a Redis that does not answer is found before the first notebook
    outcomes = {path.stem: visit(path, to, timeout=timeout, err=as_json) for path in paths}
    failed = [name for name, outcome in outcomes.items() if not outcome.ok]
    if as_json:
        found = [record(name, outcome) for name, outcome in outcomes.items()]
        click.echo(json.dumps({"ok": not failed, "redis": str(server), "notebooks": found}, indent=1))
    cells, seconds = sum(o.executed for o in outcomes.values()), sum(o.seconds for o in outcomes.values())
    verdict = f"{len(failed)} failed: {', '.join(failed)}" if failed else "all ran to their end"
    many = f"{counted(len(outcomes), 'notebook')}, {counted(cells, 'cell')}"
    click.echo(f"{many}, {seconds:.1f} s: {verdict}. Copies: {to}/", err=as_json)
    if failed:
        raise SystemExit(1)


def visit(path: Path, to: Path, *, timeout: float, err: bool) -> Outcome:
    """Run one notebook, keep the executed copy, and print its line; below it, the cell that failed."""
    click.echo(f"{path.stem:<32}", nl=False, err=err)
    notebook = notebooks.read(path)
    outcome = notebooks.execute(notebook, folder=path.parent, timeout=timeout)
    notebooks.write(notebook, to / path.name)
    click.echo(f"{outcome.executed:>4} cells {outcome.seconds:>7.1f} s  {'ok' if outcome.ok else 'FAILED'}", err=err)
    if failure := outcome.failure:
        click.echo(f"  in code cell {failure.cell} of {outcome.cells}:", err=err)
        click.echo(textwrap.indent(failure.source, "    | "), err=err)
        click.echo(textwrap.indent(failure.error, "  "), err=err)
    elif not outcome.ok:
        click.echo("  no cell ran", err=err)
    return outcome


def record(name: str, outcome: Outcome) -> dict[str, Any]:
    """One notebook for a program to read; `error` is null, or the failing cell and what it raised."""
    error = vars(outcome.failure) if outcome.failure else None if outcome.ok else {"error": "no cell ran"}
    return {
        "name": name,
        "ok": outcome.ok,
        "cells": outcome.cells,
        "executed": outcome.executed,
        "seconds": round(outcome.seconds, 2),
        "error": error,
    }
