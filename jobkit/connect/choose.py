"""Which Redis: the order in which `connect` looks, and the line that says what it took."""

from __future__ import annotations

import os
import sys
from urllib.parse import parse_qs

from jobkit.clock import Clock
from jobkit.connect.client import Client
from jobkit.connect.cluster import Connected
from jobkit.connect.given import connect_url
from jobkit.connect.private import shared_server
from jobkit.errors import ConfigError, ServerUnavailable

VARIABLE = "JOBKIT_REDIS"
_said: set[str] = set()


def connect(url: str | None = None, *, clock: Clock | None = None, prefix: str | None = None) -> Connected:
    """Connect to a Redis, and say in one line which one and why.

    It takes the first of: `url`, which may also be "private" or "fake"; what JOBKIT_REDIS holds (the
    same, each perhaps with `?prefix=`); a private, throw-away server of this process; the fake.
    REDIS_URL is not looked at: it may be somebody's production.

    - "private": a real server that ends with this process, shared by all calls in it. Another
      process, such as a second notebook's kernel, gets its own. `client.clock.advance` works.
    - "fake": fakeredis in this process, shared likewise; with `clock=`, a new one each time, whose
      time is that clock's.
    - a URL: redis://, rediss://, unix://; redis+cluster://host:port,host:port for a Redis Cluster;
      redis+sentinel://host:port,host:port/service for a master that Sentinels know. Keys get the
      prefix `?prefix=`, else `prefix`, else a random one such as "lab:7f3a9c:"; ask for "" to have
      none. Its clock can't be moved, and commands that hit more than one's own keys are refused.

    Raises ConfigError for what can't work, ServerUnavailable where no server answers.
    """
    client, reason = choose(url, clock=clock, prefix=prefix)
    line = f"jobkit: {client.server}, {reason}"
    if client.server.kind == "url":
        line += f"; its keys begin with {client.prefix!r}" if client.prefix else "; its keys have no prefix"
    if line not in _said:  # once per process
        _said.add(line)
        in_notebook = "ipykernel.kernelapp" in sys.modules  # a program that starts kernels has the rest of it
        print(line, file=sys.stdout if in_notebook else sys.stderr)
    return client


def choose(url: str | None, *, clock: Clock | None = None, prefix: str | None = None) -> tuple[Connected, str]:
    """What `connect` returns, and why it is that one, without a word."""
    wish, reason = (url, "as asked for") if url is not None else (os.environ.get(VARIABLE), f"as {VARIABLE} says")
    if not wish:
        return _found(prefix) if clock is None else (_fake(clock, prefix), "since a clock was given")
    word, _, query = wish.partition("?")
    if word in {"fake", "private"}:
        prefix = parse_qs(query, keep_blank_values=True).get("prefix", [prefix])[0]
    if word == "fake":
        return _fake(clock, prefix), reason
    if clock is not None:
        raise ConfigError("only the fake's time can be a clock of your own: connect('fake', clock=...)")
    if word == "private":
        return shared_server().client(prefix=prefix or ""), reason
    return connect_url(wish, prefix=prefix, origin="URL" if url is not None else VARIABLE), reason


def _found(prefix: str | None) -> tuple[Connected, str]:
    try:
        return shared_server().client(prefix=prefix or ""), "it ends with this process"
    except ServerUnavailable as error:
        return _fake(None, prefix), f"{error}; `jobkit doctor` says what to do"


def _fake(clock: Clock | None, prefix: str | None) -> Client:
    try:
        from jobkit.connect.fake import FakeRedis, shared_fake  # noqa: PLC0415 - 0.4 s: fakeredis brings numpy
    except ImportError as error:  # missing, or a release whose insides are elsewhere
        raise ConfigError(f"the fake needs fakeredis[lua] 2.40 or 2.41 ({error})") from None

    fake = shared_fake() if clock is None else FakeRedis(clock)
    return fake.client(prefix=prefix or "")
