"""A server that somebody names by URL, and a client that somebody else made."""

from __future__ import annotations

import contextlib
import difflib
import re
import secrets
import warnings
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import redis
import redis.asyncio
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.connection import parse_url
from redis.retry import Retry

from jobkit.clock import Clock
from jobkit.connect import several as several_hosts
from jobkit.connect.client import PROTOCOL, Client, QuietPool, another_pool, make_client, options
from jobkit.connect.cluster import AnyRedis, ClusterClient, Connected, without_retries
from jobkit.connect.safety import STRANGER, ServerInfo, is_fake, server_of, what_it_is
from jobkit.connect.servers import OLDEST
from jobkit.errors import ConfigError, ServerUnavailable

SCHEMES = ("redis", "rediss", "unix")
prefixes: dict[str, str] = {}
"""Address -> what its keys begin with where nobody says: random, unless a command has set it."""


MEANT = ("fake", "private", "redis", "rediss", "valkey", "unix", "local", "localhost", "server", "url")
"""What somebody may have meant who gives a word in place of a URL."""


def connect_url(url: str, *, prefix: str | None, origin: str) -> Connected:
    """Connect to a server that the kit did not start, and make sure that it can be used.

    The prefix of the keys is the URL's own (`?prefix=lab:ada:`), else `prefix`, else a random one
    that all calls with this URL in this process share. Raises ConfigError for a URL, password or
    server that cannot work, ServerUnavailable where nothing answers; no message holds credentials.
    """
    address, in_url = split_prefix(url)
    chosen = next((given for given in (in_url, prefix) if given is not None), None)
    if chosen is None:
        chosen = prefixes.setdefault(address, f"lab:{secrets.token_hex(3)}:")
    several = address.partition("://")[0] in several_hosts.SCHEMES
    where = several_hosts.shown(address) if several else hidden(address)
    try:
        client = several_hosts.connect_several(address, origin) if several else _one_server(address, origin)
        check_client(client)
        told = _asked(_probe(client), where)
    except TypeError as error:  # from redis-py's connection: an option that it does not know
        raise ConfigError(f"{where} has an option that redis-py does not know ({error})") from None
    _check(told, where, client.server.form)
    product, version = what_it_is(told)
    _warn_of_eviction(told, stacklevel=5)
    client.prefix, client.server = chosen, replace(client.server, product=product, version=version)
    return client


def check_memory(client: object) -> None:
    """Warn if a server evicts keys, unless `connect` has looked already; nothing is said where it may not be asked."""
    if server_of(client) is STRANGER and isinstance(client, redis.Redis):
        with contextlib.suppress(redis.RedisError):
            told: Any = client.info("memory")
            _warn_of_eviction(told, stacklevel=4)


def _warn_of_eviction(told: dict[str, Any], stacklevel: int) -> None:
    if told.get("maxmemory") and told.get("maxmemory_policy") != "noeviction":
        warnings.warn(
            f"this server evicts keys when its memory is full ({told['maxmemory_policy']}): jobs can vanish. "
            "Give jobs a server with maxmemory-policy noeviction.",
            stacklevel=stacklevel,
        )


def _one_server(address: str, origin: str) -> Client:
    settings = {**options(), **_parsed(address, origin), "protocol": PROTOCOL}
    info = ServerInfo("url", "", origin, ours=False, address=address)
    return make_client(QuietPool(**settings), info, clock=Clock())


def _probe(client: Connected) -> AnyRedis:
    """Ask once, and without a health check: redis-py 5 would recurse for ever on a refused password."""
    if isinstance(client, ClusterClient):
        return without_retries(client)
    pool = another_pool(client.connection_pool, retry=Retry(NoBackoff(), 0), health_check_interval=0)
    return redis.Redis.from_pool(pool)


def split_prefix(url: str) -> tuple[str, str | None]:
    """Take `?prefix=` out of a URL: what is left, and the prefix or None."""
    address, _, query = url.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    prefix = next((value for name, value in pairs if name == "prefix"), None)
    rest = urlencode([pair for pair in pairs if pair[0] != "prefix"])
    return address + ("?" + rest if rest else ""), prefix


def with_prefix(url: str, prefix: str) -> str:
    """Put the prefix into a URL, for another process."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'prefix': prefix})}"


def address_for_others(client: Connected) -> str:
    """Return the URL, prefix included, by which another process reaches this client's server.

    Give it to children as JOBKIT_REDIS. It may hold a password: never print it. A fake is served
    over TCP on loopback from the first call on, without a password, until this process ends.
    Raises ConfigError for a client that `connect` did not make.
    """
    server = server_of(client)
    address = server.address
    if server.kind == "fake" and isinstance(client, Client):
        from jobkit.connect.fakeserver import serve  # noqa: PLC0415 - 0.4 s: fakeredis brings numpy

        address = serve(client.connection_pool.connection_kwargs["server"])
    if not address:
        raise ConfigError("only a client that jobkit.connect made knows its server's address")
    return with_prefix(address, client.prefix)


def hidden(url: str) -> str:
    """Return what of the URL is fit to be shown: no user, password or options, and nothing if it is malformed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, f":{parts.port}" if parts.port else ""
    except ValueError:
        return "the URL"
    if parts.scheme == "unix":
        return "the Unix socket of the URL"
    if not host or "@" in parts.path + parts.query + parts.fragment:  # a password with / ? or # in it
        return "the URL"
    return f"{parts.scheme}://{host}{port}{parts.path}"


def repeated(text: str) -> str:
    """Repeat what stands in place of a URL, if it looks like a typo or like host:port: else it may be a password."""
    typo = difflib.get_close_matches(text.lower(), MEANT) or re.fullmatch(r"[\w-]+(\.[\w-]+)*:6\d{3}", text, re.ASCII)
    return repr(text) if typo else "something else (it may hold a password, so it is not shown)"


def _parsed(url: str, origin: str) -> dict[str, Any]:
    scheme = url.partition("://")[0] if "://" in url else ""
    scheme = scheme if re.fullmatch(r"[\w+.-]*", scheme, re.ASCII) else ""  # a login may stand before it
    if scheme not in SCHEMES:
        raise ConfigError(
            "which Redis? A URL that begins with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://, "
            "or the word fake or private; "
            f"{'got' if origin == 'URL' else f'{origin} is'} {f'{scheme}://...' if scheme else repeated(url)}"
        )
    try:
        return dict(parse_url(url))  # type: ignore[no-untyped-call]
    except ValueError:
        raise ConfigError(
            f"{hidden(url)} is not one that redis-py can read: write / ? # [ ] @ in a password as %2F and so on"
        ) from None


def _asked(client: AnyRedis, where: str) -> dict[str, Any]:
    """What INFO says; an empty dict where the user may not ask."""
    with contextlib.closing(client):
        return _info(client, where)


def _info(client: AnyRedis, where: str) -> dict[str, Any]:
    try:
        client.ping()
        try:
            told: Any = client.info()
        except redis.ResponseError:  # the user may not ask, or the server does not know: the fake over TCP
            return {}
        return dict(told)
    except redis.exceptions.AuthenticationError:
        raise ConfigError(f"{where} refuses the user or password of the URL, or asks for one") from None
    except (redis.ConnectionError, redis.TimeoutError) as error:
        raise ServerUnavailable(f"nothing answers at {where} ({_cause(error)})") from None
    except redis.ResponseError as error:
        raise ConfigError(f"{where} answers with an error: {error}") from None


def _cause(error: Exception) -> str:
    text = re.sub(r"\s*\(_ssl\.c:\d+\)", "", str(error)).strip().rstrip(".")
    return text.rpartition(". ")[2] or type(error).__name__


def _check(told: dict[str, Any], where: str, form: str) -> None:
    if form != "cluster" and (told.get("redis_mode") == "cluster" or told.get("cluster_enabled")):
        raise ConfigError(f"{where} is a node of a Redis Cluster: give redis+cluster://host:port,host:port")
    product, version = what_it_is(told)
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and (int(numbers[1]), int(numbers[2])) < OLDEST:
        raise ConfigError(f"{where} is {product} {version}; 6.2 is the oldest that will do")


def check_client(client: object) -> None:
    """Raise ConfigError for a client that a queue can't work with, and say what to do instead."""
    if isinstance(client, Pipeline):
        raise ConfigError("a queue needs a client, not a pipeline: its scripts must answer at once")
    if not isinstance(client, (redis.Redis, redis.RedisCluster)):
        if isinstance(client, (redis.asyncio.Redis, redis.asyncio.RedisCluster)):
            raise ConfigError("jobkit is synchronous: give it a redis.Redis, not an asyncio client")
        raise ConfigError(
            "a queue needs a redis.Redis or a redis.RedisCluster, "
            f"got {type(client).__module__}.{type(client).__name__}"
        )
    keeps: Any = client.nodes_manager if isinstance(client, redis.RedisCluster) else client.connection_pool
    settings = keeps.connection_kwargs
    if settings.get("decode_responses"):
        raise ConfigError(
            "a client with decode_responses=True can't carry jobs: payloads are bytes and need not be text, "
            "so reading one would fail or change it. Make the client without it."
        )
    if is_fake(client) and _protocol(settings) != PROTOCOL:
        raise ConfigError(
            "under RESP3 the fake answers scripts in another shape than a server does: "
            "take FakeRedis(protocol=2), or jobkit.connect('fake')"
        )


def _protocol(settings: dict[str, Any]) -> int:
    """The RESP version that a connection will speak: redis-py 8 asks for 3 unless told otherwise."""
    given = settings.get("protocol")
    if given is not None:
        return int(given)
    return 3 if int(redis.__version__.partition(".")[0]) >= 8 else 2
