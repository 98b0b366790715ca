"""The tables of docs/explorer.md, which a run makes and tests hold against runs."""

from pathlib import Path

from support.mutants import forget_lua, seed_lua
from support.pairs import met

from jobkit.explore.verdict import effort
from jobkit.ready import store_of

FILE = Path(__file__).parents[2] / "docs" / "explorer.md"
AGAIN = "make it anew: .venv/bin/python tests/explore/self_check.py"
HEADS = {
    "pairs": "| operation | pairs | meetings | schedules | bound | verdict |\n|---|---|---|---|---|---|",
    "stores": "| store | pairs | meetings | schedules | bound | verdict |\n|---|---|---|---|---|---|",
    "lanes": "| fault | who meet, and where the jobs are | promise that breaks | it takes |\n|---|---|---|---|",
    "faults": "| fault | who meet, and where the job is | promise that breaks | it takes |\n|---|---|---|---|",
}


def _marks(name):
    return f"<!-- {name}: made by tests/explore/self_check.py -->\n", f"\n<!-- end of {name} -->"


def table(name):
    """Return the lines of a table, by their first cells, in order."""
    start, end = _marks(name)
    inside = FILE.read_text("utf-8").partition(start)[2].partition(end)[0]
    lines = inside.splitlines()[2:]
    return {line.split("|")[1].strip(): line for line in lines}


def write(name, lines):
    """Put a table in its place."""
    start, end = _marks(name)
    before, _, rest = FILE.read_text("utf-8").partition(start)
    after = rest.partition(end)[2]
    FILE.write_text(f"{before}{start}{HEADS[name]}\n" + "\n".join(lines) + end + after, "utf-8")


def shown(fault, patch):
    """Explore with a fault in its place; return the report."""
    if fault.file:
        seed_lua(patch, fault.file, fault.before, fault.after)
    try:
        return met(fault.first, fault.second, fault.setup, store=store_of(fault.store))
    finally:
        forget_lua(patch)


def line(name, fault, report):
    """Return a fault's line of the table."""
    promise, takes = (report.failure.promise, effort(report.failure)) if report.failure else ("none", "")
    where = fault.setup if fault.store == "streams" else f"{fault.setup}, {fault.store}"
    return f"| {name} | {fault.first} / {fault.second}: {where} | {promise} | {takes} |"


def finds(table_name, name, fault, monkeypatch):
    """The explorer finds the fault, names its promise, and the page says so."""
    report = shown(fault, monkeypatch)
    assert report.failure is not None, f"survived {report.verdict}"
    assert report.failure.promise == fault.promise, str(report)
    assert line(name, fault, report) == table(table_name)[name], AGAIN
