"""The kit's client, and the one factory that makes it.

redis-py's own defaults differ from release to release: 5 sends a command once, 8 sends it up to
eleven times and gives up reading after 5 s. Here everything is said: what is re-sent, how long is
waited, and RESP2, because the fake answers XREADGROUP in another shape under RESP3.
"""

from __future__ import annotations

import copy
from typing import Any

import redis
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.client import Pipeline
from redis.retry import Retry

from jobkit.clock import Clock
from jobkit.connect.safety import STRANGER, ServerInfo, refuse

PROTOCOL = 2
TIMEOUT = 5.0
"""Seconds to wait for a connection, and for each reply: no command of the kit blocks that long."""
RETRIES = 3
"""How often a command is sent again after a lost connection. Every verb of the kit but claim bears it."""
HEALTH_CHECK = 30
"""Seconds of idleness after which a connection is tried with a PING before it is used."""

LOST = [redis.ConnectionError, redis.TimeoutError]


class ClientPipeline(Pipeline):
    """A pipeline under the same safety rule as its client."""

    server: ServerInfo = STRANGER

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Queue or send a command, unless it is one that `refuse` stops."""
        refuse(self.server, args)
        return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]


class Client(redis.Redis):
    """A redis.Redis that carries its clock, its key prefix and what is known of its server."""

    clock: Clock = Clock()
    prefix: str = ""
    server: ServerInfo = STRANGER

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """Send a command, unless it is one that `refuse` stops."""
        refuse(self.server, args)
        return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: str | None = None) -> ClientPipeline:  # noqa: FBT001, FBT002 - as redis-py has it
        """Return a pipeline, as redis.Redis does, that keeps the safety rule."""
        pipe = ClientPipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)
        pipe.server = self.server
        return pipe

    def __repr__(self) -> str:
        return f"<jobkit client of {self.server}, prefix {self.prefix!r}>"


class QuietPool(redis.ConnectionPool):
    """A pool that shows none of its settings: redis-py 6's own repr shows the password."""

    def __repr__(self) -> str:
        return f"<jobkit pool of {self.connection_class.__name__}>"


def options(*, fake: bool = False) -> dict[str, Any]:
    """The connection settings that the kit always states. The fake has nothing to wait for."""
    backoff = NoBackoff() if fake else ExponentialBackoff(cap=0.5, base=0.02)
    return {
        "protocol": PROTOCOL,
        "socket_timeout": TIMEOUT,
        "socket_connect_timeout": TIMEOUT,
        "retry": Retry(backoff, RETRIES),
        "retry_on_error": list(LOST),
        "health_check_interval": 0 if fake else HEALTH_CHECK,
    }


def make_client(pool: redis.ConnectionPool, server: ServerInfo, *, clock: Clock, prefix: str = "") -> Client:
    """Make the client that `connect` returns, from a pool whose settings are `options`."""
    client = Client(connection_pool=pool)
    client.auto_close_connection_pool = True
    client.clock, client.prefix, client.server = clock, prefix, server
    return client


def another_pool(pool: redis.ConnectionPool, **changes: Any) -> redis.ConnectionPool:
    """A pool of the same kind to the same server, with some connection settings changed."""
    twin: dict[str, Any] = {"connection_class": pool.connection_class, "max_connections": pool.max_connections}
    settings = {**pool.connection_kwargs}
    for made_by_the_pool in ("himport_registry", "maint_notifications_pool_handler"):
        settings.pop(made_by_the_pool, None)
    if isinstance(pool, redis.BlockingConnectionPool):
        twin |= {"timeout": pool.timeout, "queue_class": pool.queue_class}
    if hasattr(pool, "sentinel_manager"):
        settings.pop("connection_pool", None)
        twin |= {name: getattr(pool, name) for name in ("is_master", "check_connection")}
        twin |= {"service_name": getattr(pool, "service_name", ""), "sentinel_manager": pool.sentinel_manager}
    return type(pool)(**{**twin, **settings, **changes})


def single_without_retries(client: redis.Redis) -> redis.Redis:
    """Return a client of the same server, on its own pool, that sends every command once at most.

    For `claim`, the one verb that must not be sent again: a reply that is lost with its connection
    raises ConnectionError or TimeoutError, and the command may or may not have run.
    """
    once = copy.copy(client)
    once.connection_pool = another_pool(client.connection_pool, retry=Retry(NoBackoff(), 0))
    once.connection = None
    once.auto_close_connection_pool = True
    return once
