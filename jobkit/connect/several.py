"""URLs that name several hosts: of a Redis Cluster, or of the Sentinels that know a master.

    redis+cluster://[user:password@]host[:port],host[:port]...[?option=...]
    redis+sentinel://[user:password@]host[:port],host[:port].../service[?option=...]

With `rediss` the connections are encrypted. The options are those of a redis:// URL; `prefix`; and
for Sentinels that ask for a login of their own `sentinel_username`, `sentinel_password`.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

import redis
from redis.connection import parse_url
from redis.exceptions import RedisClusterException
from redis.sentinel import Sentinel, SentinelConnectionPool

from jobkit.clock import Clock
from jobkit.connect.client import PROTOCOL, Client, make_client, options
from jobkit.connect.cluster import ClusterClient, cluster_client
from jobkit.connect.safety import ServerInfo
from jobkit.errors import ConfigError, ServerUnavailable

SCHEMES = ("redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel")
_URL = re.compile(
    r"(?P<tls>rediss?)\+(?P<what>cluster|sentinel)://(?:(?P<login>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)"
    r"(?:/(?P<service>[^@/?#]*))?(?:\?(?P<query>[^@#]*))?"
)
_HOST = re.compile(r"(?:\[(?P<v6>[0-9a-fA-F:]+)\]|(?P<name>[\w.-]+))(?::(?P<port>\d{1,5}))?", re.ASCII)
_PORTS = {"cluster": 6379, "sentinel": 26_379}
_LAST_PORT = 65_535


class QuietSentinelPool(SentinelConnectionPool):
    """A pool that asks Sentinel for the master, and shows none of its settings."""

    def __repr__(self) -> str:
        return "<jobkit pool of a master by Sentinel>"


def connect_several(url: str, origin: str) -> Client | ClusterClient:
    """Make the client that the URL asks for, without a prefix. Raises ConfigError, ServerUnavailable."""
    match = _URL.fullmatch(url)
    hosts = [_HOST.fullmatch(host) for host in match["hosts"].split(",")] if match else []
    if match is None or not all(host and int(host["port"] or 1) <= _LAST_PORT for host in hosts):
        scheme = url.partition("://")[0]
        raise ConfigError(
            f"{scheme}:// names its hosts as host:port,host:port; write / ? # [ ] @ in a password as %2F and so on"
        )
    what = match["what"]
    nodes = [(host["v6"] or host["name"], int(host["port"] or _PORTS[what])) for host in hosts if host]
    where = shown(url)
    if what == "sentinel":
        return _by_sentinel(match, nodes, where, origin, url)
    if (match["service"] or "0") != "0":
        raise ConfigError(f"{where}: a cluster has one database, and no service")
    settings = _settings(match, where)
    try:
        info = ServerInfo("url", "", origin, ours=False, form="cluster", address=url)
        return cluster_client(nodes, info, Clock(), **settings)
    except (RedisClusterException, redis.RedisError) as error:
        raise _reason(error, where) from None


def shown(url: str) -> str:
    """Return what of the URL is fit to be shown: no login and no options, and nothing if it is malformed."""
    match = _URL.fullmatch(url)
    if match is None:
        return "the URL"
    service = f"/{match['service']}" if match["service"] else ""
    return f"{match['tls']}+{match['what']}://{match['hosts']}{service}"


def _settings(match: re.Match[str], where: str) -> dict[str, Any]:
    """The settings of a connection, by redis-py's own reading of the URL of one host."""
    login = f"{match['login']}@" if match["login"] else ""
    pairs = parse_qsl(match["query"] or "", keep_blank_values=True)
    own = urlencode([pair for pair in pairs if not pair[0].startswith("sentinel_")])
    try:
        settings = dict(parse_url(f"{match['tls']}://{login}host?{own}"))  # type: ignore[no-untyped-call]
    except ValueError:
        raise ConfigError(f"{where} is not one that redis-py can read") from None
    settings.pop("host")
    if settings.pop("connection_class", None) is not None:
        settings["ssl"] = True
    return settings | {"protocol": PROTOCOL}


def _by_sentinel(match: re.Match[str], nodes: list[tuple[str, int]], where: str, origin: str, url: str) -> Client:
    service = unquote(match["service"] or "")
    if not service:
        raise ConfigError(f"{where} does not say which master: redis+sentinel://host:port,host:port/service")
    stated = options()
    settings = {**stated, **_settings(match, where)}
    own = {name.removeprefix("sentinel_"): value for name, value in parse_qsl(match["query"] or "")
           if name.startswith("sentinel_")}  # fmt: skip
    ask = {**stated, **own}
    try:
        manager = Sentinel(nodes, sentinel_kwargs=ask)  # type: ignore[no-untyped-call]
        pool = QuietSentinelPool(service, manager, check_connection=False, **settings)  # type: ignore[no-untyped-call]
    except TypeError as error:
        raise ConfigError(f"{where} has an option that redis-py does not know ({error})") from None
    info = ServerInfo("url", "", origin, ours=False, form="master by Sentinel", address=url)
    return make_client(pool, info, clock=Clock())


def _reason(error: Exception, where: str) -> Exception:
    """Say why a cluster's client could not be made: redis-py says it in words alone."""
    said = str(error)
    if re.search(r"not enabled|cluster support disabled", said):
        return ConfigError(f"{where} is no Redis Cluster: give redis:// for a single server")
    if re.search(r"WRONGPASS|NOAUTH|uthentication|invalid (username|password)", said):
        return ConfigError(f"{where} refuses the user or password of the URL, or asks for one")
    if re.search("not covered", said):
        return ServerUnavailable(f"the cluster at {where} does not serve all slots")
    return ServerUnavailable(f"nothing answers at {where} ({said.strip().rstrip('.').rpartition('. ')[2]})")
