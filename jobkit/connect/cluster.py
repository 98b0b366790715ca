"""The kit's client of a Redis Cluster, and what it does otherwise than redis-py's own.

redis-py follows the cluster by itself. MOVED, ASK and TRYAGAIN are refusals: the command did not
run, so it is sent to another node. After a lost reply it learns the cluster anew and sends the
command again, 3 times (redis-py 5) or 10 (8), which every verb of the kit but claim bears. Its own
exceptions are no RedisError, so that a loop that waits for Redis to come back would end by them:
here they are ConnectionErrors.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from jobkit.clock import Clock
from jobkit.connect.client import RETRIES, Client, options, single_without_retries
from jobkit.connect.safety import STRANGER, ServerInfo, refuse

AnyRedis = redis.Redis | redis.RedisCluster
"""What a queue can work with."""


class ClusterClient(redis.RedisCluster):
    """A redis.RedisCluster that carries its clock, its key prefix and what is known of its servers."""

    clock: Clock = Clock()
    prefix: str = ""
    server: ServerInfo = STRANGER

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command, unless it is one that `refuse` stops."""
        refuse(self.server, args)
        return _as_redis_error(super().execute_command, *args, **options)

    def pipeline(self, transaction: bool | None = None, shard_hint: str | None = None) -> Any:  # noqa: FBT001 - as redis-py has it
        """Return a pipeline, as redis.RedisCluster does, that keeps the safety rule."""
        pipe: Any = super().pipeline(transaction, shard_hint)  # type: ignore[no-untyped-call]
        queue, send = pipe.execute_command, pipe.execute

        def checked(*args: Any, **options: Any) -> Any:
            refuse(self.server, args)
            return queue(*args, **options)

        pipe.execute_command = checked
        pipe.execute = lambda *args, **options: _as_redis_error(send, *args, **options)
        return pipe

    def __repr__(self) -> str:
        return f"<jobkit client of {self.server}, prefix {self.prefix!r}>"


Connected = Client | ClusterClient
"""What `connect` returns."""


def _as_redis_error(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    try:
        return call(*args, **options)
    except RedisClusterException as error:
        raise redis.ConnectionError(f"the cluster: {error}") from error


def cluster_client(nodes: list[tuple[str, int]], server: ServerInfo, clock: Clock, **settings: Any) -> ClusterClient:
    """Make a client from the addresses of some nodes: it asks them for the others.

    Raises RedisClusterException if no node answers, or it is none of a cluster.
    """
    startup = [redis.cluster.ClusterNode(host, port) for host, port in nodes]  # type: ignore[no-untyped-call]
    stated = {name: value for name, value in options().items() if not name.startswith("retry")}
    client = ClusterClient(startup_nodes=startup, **{**stated, **settings})
    _send_again(client, RETRIES)
    client.clock, client.server = clock, server
    return client


def without_retries(client: AnyRedis) -> AnyRedis:
    """Return a client of the same server, that sends every command once at most.

    For `claim`, the one verb that must not be sent again: a reply that is lost with its connection
    raises ConnectionError or TimeoutError, and the command may or may not have run. On one server
    it has a pool of its own. On a cluster it shares the client's connections, and what is known of
    the nodes; it still goes where MOVED sends it.
    """
    if isinstance(client, redis.Redis):
        return single_without_retries(client)
    once = _twin(client)
    _send_again(once, 0)
    return once


def usable(client: AnyRedis) -> AnyRedis:
    """Return the client; for a RedisCluster that jobkit did not make, one that raises as a ClusterClient does."""
    return client if isinstance(client, (redis.Redis, ClusterClient)) else _twin(client)


def _twin(client: redis.RedisCluster) -> ClusterClient:
    """Return a client on the same connections, of the same class and a ClusterClient, too."""
    kind = type(client)
    twin: Any = copy.copy(client)
    if not isinstance(client, ClusterClient):
        twin.__class__ = type(kind.__name__, (ClusterClient, kind), {})
    twin.close = lambda: None  # its end must not close what is the client's
    twin.the_client = client  # whose end would
    return twin  # type: ignore[no-any-return]


def _send_again(client: redis.RedisCluster, times: int) -> None:
    client.retry = Retry(NoBackoff(), times)
    client.cluster_error_retry_attempts = times  # type: ignore[attr-defined]  # what redis-py 5 goes by


def node_of(client: AnyRedis, key: str | bytes) -> dict[str, Any]:
    """Say, as options of a command that has no key, such as SCAN, that the master of `key` is to answer."""
    return {} if isinstance(client, redis.Redis) else {"target_nodes": client.get_node_from_key(key)}  # type: ignore[no-untyped-call]
