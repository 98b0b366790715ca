"""Jobs vanish on a server that evicts keys: whoever starts on one is warned, once."""

import json
import subprocess
import sys
import warnings
from urllib.parse import quote

import pytest
import redis as redis_py

import jobkit as jk
from jobkit.connect import PrivateServer, address_for_others, connect

SAYS = "this server evicts keys when its memory is full (allkeys-lru)"
HOSTILE = "p%40ss:w/o?r#d @ \" ' {x}"


@pytest.fixture
def server(live_server):
    with PrivateServer(over="loopback") as server:
        admin = server.client()
        admin.config_set("maxmemory", "100mb")
        admin.config_set("maxmemory-policy", "allkeys-lru")
        yield server


def url(server):
    return address_for_others(server.client()).removesuffix("?prefix=")


def plain(server):
    settings = server.client().connection_pool.connection_kwargs
    return redis_py.Redis(host=settings["host"], port=settings["port"], password=settings["password"])


def said(act):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act()
    return [str(warning.message) for warning in told if warning.category is UserWarning]


@pytest.mark.parametrize("looper", [jk.Worker, jk.Scheduler])
def test_a_loop_on_a_client_of_ones_own(server, looper):
    loop = looper(jk.Queue(plain(server), "mail"))
    told = said(loop.queue.agree)
    assert len(told) == 1
    assert told[0].startswith(SAYS)


def test_a_url_warns_when_it_connects_and_not_again(server):
    clients = []
    assert [text.partition(":")[0] for text in said(lambda: clients.append(connect(url(server))))] == [SAYS]
    assert said(jk.Queue(clients[0], "mail").agree) == []


def test_a_server_that_keeps_what_it_has_is_not_spoken_of(server):
    for setting in ({"maxmemory-policy": "noeviction"}, {"maxmemory-policy": "allkeys-lru", "maxmemory": "0"}):
        for name, value in setting.items():
            server.client().config_set(name, value)
        assert said(jk.Queue(plain(server), "mail").agree) == []
        assert said(lambda: connect(url(server))) == []


def test_a_user_who_may_not_ask_is_not_warned_and_works(server):
    server.client().execute_command("ACL", "SETUSER", "ada", "on", ">pw", "~*", "&*", "+@all", "-info")
    host = url(server).rpartition("@")[2]
    client = redis_py.Redis.from_url(f"redis://ada:pw@{host}")
    assert said(jk.Queue(client, "mail").agree) == []
    assert said(lambda: connect(f"redis://ada:pw@{host}")) == []


def test_the_doctor_says_it_as_advice(server, tmp_path):
    command = [sys.executable, "-m", "jobkit", "doctor", "--json"]
    told = subprocess.run(command, env={"JOBKIT_REDIS": url(server)}, capture_output=True, text=True, check=True)
    assert sum(line.startswith(SAYS) for line in json.loads(told.stdout)["advice"]) == 1
    assert "Warning" not in told.stderr


@pytest.mark.parametrize("command", [["doctor"], ["stats", "mail"], ["metrics", "mail", "--port", "0"],
                                     ["scheduler", "mail"]])  # fmt: skip
@pytest.mark.parametrize("wrong", [False, True])
def test_a_hostile_password_is_never_shown(server, tmp_path, command, wrong):
    """With the right one the server goes away under the command; with a wrong one it is refused."""
    server.client().execute_command("ACL", "SETUSER", "ada", "on", f">{HOSTILE}", "~*", "&*", "+@all")
    shown = quote(HOSTILE + ("!" if wrong else ""), safe="")
    address = f"redis://ada:{shown}@{url(server).rpartition('@')[2]}"
    process = subprocess.Popen(
        [sys.executable, "-m", "jobkit", *command],
        env={"JOBKIT_REDIS": address},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with process:
        try:
            out, _ = process.communicate(timeout=5 if wrong or command[0] in {"doctor", "stats"} else 2)
        except subprocess.TimeoutExpired:
            server.close()
            process.terminate()
            out, _ = process.communicate(timeout=20)
    for secret in (HOSTILE, shown, HOSTILE[:6], quote(HOSTILE, safe="")):
        assert secret not in out
