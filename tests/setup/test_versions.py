"""`make versions`: what ran on something else than was asked for does not pass for it."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import versions

SAID = "platform linux\njobkit: redis-py 5.3.1, live on Redis 7.0.15 from PATH\n9 passed\n"


def test_what_was_asked_for_ran():
    assert versions.something_else(SAID, "7.0", "5") == ""
    assert versions.something_else(SAID.replace("Redis 7.0.15", "Valkey 9.1.2"), "valkey", "5") == ""


@pytest.mark.parametrize(("server", "client"), [("7.0", "8"), ("8.2", "5"), ("valkey", "5")])
def test_something_else_ran(server, client):
    assert versions.something_else(SAID, server, client) == ", but on redis-py 5.3.1, live on Redis 7.0.15 from PATH"


def test_nothing_ran():
    said = "jobkit: redis-py 5.3.1, not live: no redis-server\n"
    assert "on nothing" in versions.something_else(said, "7.0", "5")


def test_a_server_that_cannot_be_had_is_a_line_of_the_table(monkeypatch, tmp_path):
    monkeypatch.setattr(versions, "HOME", tmp_path)
    monkeypatch.setattr(versions.shutil, "which", lambda _: None)
    outcome = versions.attempt("7.0", "8", ())
    assert not outcome.good
    assert "not had: Debian's package needs apt-get" in str(outcome)
