"""Which Redis `connect` takes, and what it says about it."""

import importlib
import os
import sys
import types

import pytest

from jobkit.clock import VirtualClock
from jobkit.connect import PrivateServer, address_for_others, connect
from jobkit.connect.servers import Found
from jobkit.errors import ConfigError, ServerUnavailable

choose = importlib.import_module("jobkit.connect.choose")  # `import jobkit.connect` finds the function
private = importlib.import_module("jobkit.connect.private")


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """As in a new process, without a word from the environment."""
    monkeypatch.delenv("JOBKIT_REDIS", raising=False)
    monkeypatch.setenv("REDIS_URL", "redis://:secret@production.invalid:6379")
    monkeypatch.setattr(choose, "_said", set())


@pytest.fixture
def no_server(monkeypatch):
    monkeypatch.setattr(private, "_shared", [])
    monkeypatch.setattr(private, "usable_servers", lambda: iter(()))
    monkeypatch.setattr(private, "why_none", lambda: "no redis-server on PATH")


@pytest.fixture(scope="module")
def url(live_server):
    with PrivateServer(over="loopback") as server:
        yield server.client().server.address


def test_a_private_server_where_there_is_one(live_server, capsys):
    client = connect()
    assert client.server.kind == "private"
    assert client.server.ours
    assert client.prefix == ""
    assert client.clock.can_advance
    connect()
    connect("private")
    said = capsys.readouterr().err.splitlines()
    version, origin = f"{client.server.product} {client.server.version}", client.server.origin
    assert said == [
        f"jobkit: {version}, a private server from {origin}, it ends with this process",
        f"jobkit: {version}, a private server from {origin}, as asked for",
    ]


def test_the_fake_where_there_is_none(no_server, capsys):
    client = connect()
    assert client.server.kind == "fake"
    assert client.server.ours
    said = capsys.readouterr().err
    assert said.startswith("jobkit: the fake Redis (fakeredis ")
    assert "no redis-server on PATH; `jobkit doctor` says what to do" in said


def test_a_private_server_that_is_asked_for_is_not_replaced(no_server, monkeypatch):
    with pytest.raises(ServerUnavailable, match="no redis-server on PATH"):
        connect("private")
    monkeypatch.setenv("JOBKIT_REDIS", "private")
    with pytest.raises(ServerUnavailable, match="no redis-server on PATH"):
        connect()


def test_a_server_that_does_not_start_is_replaced_by_the_fake(monkeypatch):
    monkeypatch.setattr(private, "_shared", [])
    monkeypatch.setattr(private, "usable_servers", lambda: iter([Found("PATH", "/nonexistent/redis-server")]))
    assert connect().server.kind == "fake"


def test_the_environment_decides_where_nothing_is_asked_for(monkeypatch, url):
    monkeypatch.setenv("JOBKIT_REDIS", "fake?prefix=lab:ada:")
    assert (connect().server.kind, connect().prefix) == ("fake", "lab:ada:")
    assert connect(prefix="lab:bob:").prefix == "lab:ada:"
    monkeypatch.setenv("JOBKIT_REDIS", "private?prefix=lab:ada:")
    assert (connect().server.kind, connect().prefix) == ("private", "lab:ada:")
    monkeypatch.setenv("JOBKIT_REDIS", url + "?prefix=")
    assert (connect().server.kind, connect().prefix) == ("url", "")
    assert connect().server.origin == "JOBKIT_REDIS"
    assert connect("fake").server.kind == "fake"
    monkeypatch.setenv("JOBKIT_REDIS", "")
    assert connect().server.kind == "private"


def test_redis_url_is_not_looked_at(live_server):
    assert connect().server.kind == "private"


def test_calls_in_one_process_share_a_server_and_a_clock(live_server):
    for word in (None, "fake"):
        first, second = connect(word), connect(word, prefix="lab:")
        first.set("shared", "yes")
        assert second.get("shared") == b"yes"
        assert first.clock is second.clock
        first.delete("shared")


def test_a_fake_with_a_clock_is_new_each_time():
    clock = VirtualClock()
    first, second = connect("fake", clock=clock), connect(clock=clock)
    first.set("k", "v")
    assert second.get("k") is None
    assert first.clock is second.clock is clock
    assert first.server.kind == second.server.kind == "fake"


def test_only_the_fake_takes_a_clock(url, monkeypatch):
    for wish in ("private", url):
        with pytest.raises(ConfigError, match="only the fake's time"):
            connect(wish, clock=VirtualClock())
        monkeypatch.setenv("JOBKIT_REDIS", wish)
        with pytest.raises(ConfigError, match="only the fake's time"):
            connect(clock=VirtualClock())


def test_a_url_is_not_ours_and_has_a_prefix(url, capsys):
    client = connect(url)
    assert not client.server.ours
    assert not client.clock.can_advance
    assert client.prefix.startswith("lab:")
    assert client.prefix.endswith(":")
    assert len(client.prefix) == len("lab:7f3a9c:")
    told = capsys.readouterr().err
    assert connect(url).prefix == client.prefix
    assert connect(url, prefix="").prefix == ""
    assert capsys.readouterr().err.splitlines()[-1].endswith(", as asked for; its keys have no prefix")
    assert connect(url, prefix="mine:").prefix == "mine:"
    assert connect(url + "?prefix=lab:a%26b:", prefix="mine:").prefix == "lab:a&b:"
    assert connect(url + "?db=3&prefix=x").connection_pool.connection_kwargs["db"] == 3
    with pytest.raises(ConfigError, match="time cannot be moved"):
        client.clock.advance(1)
    first = told.splitlines()[0]
    assert first.endswith(f"a server that jobkit did not start, as asked for; its keys begin with {client.prefix!r}")
    assert "secret" not in first
    assert "127.0.0.1" not in first


def test_the_line_holds_nothing_that_varies(live_server, capsys):
    connect()
    line = capsys.readouterr().err
    server = private.shared_server()
    for part in (str(server.folder), str(server.pid), "/", os.environ.get("TMPDIR", "/tmp")):
        assert part not in line


def test_in_a_notebook_the_line_is_output(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel.kernelapp", types.ModuleType("ipykernel.kernelapp"))
    connect("fake")
    connect("fake")
    told = capsys.readouterr()
    assert told.err == ""
    assert len(told.out.splitlines()) == 1


def test_the_address_for_others_leads_to_the_same_server(url, monkeypatch):
    for client in (connect("private", prefix="lab:"), connect("fake", prefix="lab:"), connect(url, prefix="lab:")):
        client.set("where", client.server.kind)
        monkeypatch.setenv("JOBKIT_REDIS", address_for_others(client))
        with connect() as other:
            assert other.get("where") == client.server.kind.encode()
            assert other.prefix == "lab:"
        client.delete("where")
