"""The private server itself: who can reach it, what it keeps, how it is restarted."""

import contextlib
import importlib
import os
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import psutil
import pytest
import redis as redis_py
from redis.backoff import NoBackoff
from redis.retry import Retry

from jobkit.connect import PrivateServer, address_for_others, connect
from jobkit.connect.servers import Found
from jobkit.errors import ConfigError, ServerUnavailable

private = importlib.import_module("jobkit.connect.private")  # `import jobkit.connect` finds the function
pytestmark = pytest.mark.usefixtures("server_program")

TRY_AS_NOBODY = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
for path in sys.argv[1:]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
    except PermissionError:
        continue
    raise SystemExit(f"reached {path}")
try:
    os.listdir(os.path.dirname(path))
except PermissionError:
    raise SystemExit(0)
raise SystemExit("listed the folder")
"""


def test_it_is_throw_away_and_says_what_it_is():
    with PrivateServer() as server:
        client = server.client(prefix="lab:")
        assert client.server.kind == "private"
        assert client.server.ours
        assert client.prefix == "lab:"
        assert client.config_get("save")["save"] == ""
        assert client.config_get("appendonly")["appendonly"] == "no"
        assert client.config_get("maxmemory-policy")["maxmemory-policy"] == "noeviction"
        assert server.folder.exists()
    assert not server.folder.exists()
    with pytest.raises(redis_py.ConnectionError):
        client.ping()
    server.close()  # twice is fine


def test_nobody_else_can_open_the_socket():
    with PrivateServer(over="unix") as server:
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700
        assert server.client().config_get("port")["port"] == "0"
        if os.geteuid() == 0:
            path = str(server.folder / "redis.sock")
            told = subprocess.run(
                [sys.executable, "-c", TRY_AS_NOBODY, path], check=False, capture_output=True, text=True
            )
            assert told.returncode == 0, told.stderr


def test_on_loopback_it_has_a_password_that_is_nowhere_to_be_read():
    with PrivateServer(over="loopback") as server:
        client = server.client()
        password = client.connection_pool.connection_kwargs["password"]
        assert len(password) == 32
        port = client.connection_pool.connection_kwargs["port"]
        with (
            redis_py.Redis(port=port, retry=Retry(NoBackoff(), 0)) as stranger,
            pytest.raises(redis_py.exceptions.AuthenticationError),
        ):
            stranger.ping()
        process = psutil.Process(server.pid)
        for one in (process, process.parent()):
            assert password not in " ".join(one.cmdline())
        texts = [client, server, client.server, client.connection_pool, client.pipeline(), client.clock]
        texts.append(client.connection_pool.make_connection())
        assert not [text for text in texts if password in f"{text!r} {text!s}"]
        assert stat.S_IMODE(server.folder.stat().st_mode) == 0o700  # redis.conf is in there


def test_a_temporary_folder_with_a_long_path_is_no_obstacle(monkeypatch, tmp_path):
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with PrivateServer() as server:
        assert server.client().ping()
        assert server.folder.parent == Path("/tmp")
    monkeypatch.setattr(private, "LONGEST_SOCKET_PATH", 10)
    with pytest.raises(ServerUnavailable, match="short enough"):
        PrivateServer(over="unix")
    with PrivateServer() as server:
        assert server.client().ping()
        assert server.client().connection_pool.connection_kwargs["password"]
        assert server.folder.parent == deep
    with pytest.raises(ConfigError, match="over is unix, loopback or None"):
        PrivateServer(over="carrier pigeon")


def test_where_no_unix_socket_can_be_made_it_is_on_loopback(monkeypatch):
    monkeypatch.setattr(PrivateServer, "_on_a_socket", on_a_socket_that_fails)
    with PrivateServer() as server:
        assert server.client().ping()
        assert server.client().connection_pool.connection_kwargs["password"]
    with pytest.raises(ServerUnavailable, match="pening Unix socket: bind: No such file"):
        PrivateServer(over="unix")
    assert not list(server.folder.parent.glob(f"{server.folder.name}*"))


def on_a_socket_that_fails(server, really=PrivateServer._on_a_socket):
    return [line.replace("redis.sock", "not/there/redis.sock") for line in really(server)]


def test_a_path_with_spaces_and_quotes(monkeypatch):
    with tempfile.TemporaryDirectory(prefix="""j k'?#%20"\\""", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with PrivateServer() as server:
            assert server.client().ping()
            assert str(server.folder).startswith(folder)
            elsewhere = connect(address_for_others(server.client(prefix="a b&c?")))
            assert elsewhere.ping()
            assert elsewhere.prefix == "a b&c?"


@pytest.mark.parametrize("appendonly", [True, False])
def test_a_restart_is_a_crash(appendonly):
    with PrivateServer(appendonly=appendonly) as server:
        client = server.client()
        client.set("k", "v")
        before = server.pid
        server.restart()
        assert server.pid != before
        assert not psutil.pid_exists(before)
        assert client.get("k") == (b"v" if appendonly else None)


def test_a_restart_waits_until_all_is_read_from_disk():
    with PrivateServer(appendonly=True) as server:
        client = server.client()
        client.eval("for i = 1, 300000 do redis.call('SET', i, i) end", 0)
        server.restart()
        assert client.info("persistence")["loading"] == 0


def test_a_server_that_died_is_ended_all_the_same():
    with PrivateServer() as server:
        psutil.Process(server.pid).kill()
    assert not server.folder.exists()


def test_a_server_that_does_not_start_says_why(monkeypatch):
    monkeypatch.setattr(private, "PATIENCE", 1.0)
    with pytest.raises(ServerUnavailable, match="does not start: it says nothing"):
        PrivateServer(Found("PATH", "/nonexistent/redis-server"))
    with pytest.raises(ServerUnavailable, match="does not start"):
        PrivateServer(Found("PATH", "/bin/ls"))


def test_one_server_per_process(monkeypatch):
    monkeypatch.setenv("JOBKIT_REDIS", "private")
    clients = []
    threads = [threading.Thread(target=lambda: clients.append(connect())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    clients.append(connect("private"))
    assert len({client.info("server")["process_id"] for client in clients}) == 1
    assert len({id(client.clock) for client in clients}) == 1
    with PrivateServer() as fresh:
        assert fresh.pid != clients[0].info("server")["process_id"]


def test_connect_finds_that_its_server_is_gone(capsys):
    first = connect("private")
    with contextlib.suppress(redis_py.ConnectionError):
        first.execute_command("SHUTDOWN", "NOSAVE")
    again = connect("private")
    assert again.ping()
    assert connect("private").client_id() != 0
