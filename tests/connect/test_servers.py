"""Finding a server program: on PATH, in wheels, and why one will not do."""

import subprocess
import sys

import pytest

from jobkit.connect.servers import find_servers, usable_servers, why_none


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program on PATH that says this of its version."""

    def put(says, name="redis-server", folder="bin", code=0):
        path = tmp_path / folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
        return path

    return put


def on_path():
    return [found for found in find_servers() if found.origin == "PATH"]


@pytest.mark.parametrize(
    ("says", "version"),
    [
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.2.1 bits=64 build=d81b8ff71cfb150e", "7.0.15"),
        ("Redis server v=6.2.14 sha=40305114:0 malloc=libc bits=64", "6.2.14"),
        ("Valkey server v=8.1.3 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64", "8.1.3"),
    ],
)
def test_a_program_on_path_comes_first(program, says, version):
    program(says, name="valkey-server" if "Valkey" in says else "redis-server")
    first = next(find_servers())
    assert (first.origin, first.version, first.problem) == ("PATH", version, "")
    assert next(usable_servers()) == first
    assert "/" not in repr(first)


@pytest.mark.parametrize(
    ("says", "code", "problem"),
    [
        ("Redis server v=6.0.16 sha=0", 0, "is Redis 6.0.16, and 6.2 is the oldest that will do"),
        ("Redis server v=5.0.7 sha=0", 0, "is Redis 5.0.7"),
        ("not a server at all", 0, "does not start here"),
        ("Redis server v=7.0.15", 127, "does not start here"),
    ],
)
def test_why_one_will_not_do(program, says, code, problem):
    program(says, code=code)
    (found,) = on_path()
    assert problem in found.problem
    assert found not in list(usable_servers())
    assert f"the one from PATH {found.problem}" in why_none()


def test_a_program_that_can_not_be_run(tmp_path, monkeypatch):
    broken = tmp_path / "redis-server"
    broken.write_bytes(b"\x7fELF, but not really")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    (found,) = on_path()
    assert found.problem.startswith("does not start here")
    broken.chmod(0o644)
    assert on_path() == []


def test_the_environments_own_programs_are_not_on_path(program, tmp_path, monkeypatch):
    program("Redis server v=7.0.15")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert on_path() == []
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "elsewhere"))
    assert len(on_path()) == 1


def test_none_at_all(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert list(find_servers()) == []
    assert why_none() == "no redis-server or valkey-server on PATH, and no wheel that brings one"


def test_what_is_usable_says_its_version():
    for found in usable_servers():
        told = subprocess.run([found.path, "--version"], capture_output=True, text=True, check=True).stdout
        assert f"v={found.version}" in told
