"""A throw-away Redis Cluster of one's own: six private servers on loopback, three masters, a replica of each.

It ends with the process that started it, as each of its servers does (see `private`). Its masters
can be killed, paused and started again, and what a failover does can be watched.
"""

from __future__ import annotations

import secrets
import signal
import socket
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot

from jobkit.clock import Clock
from jobkit.connect.cluster import ClusterClient, cluster_client
from jobkit.connect.liveclock import LiveClock
from jobkit.connect.private import PATIENCE, PrivateServer, best_server
from jobkit.connect.safety import ServerInfo
from jobkit.connect.servers import Found
from jobkit.errors import JobkitError, ServerUnavailable

MASTERS = 3
"""Each with one replica."""
TRIES = 5
"""How often a node is started on other ports, where somebody else was quicker to take them."""
PORTS = (10_000, 22_768)
"""A node listens on a port and, for the other nodes, on that plus 10,000: both below what Linux gives to clients."""


class Node(PrivateServer):
    """One server of a cluster."""

    def __init__(self, program: Found, password: str, settings: list[str]) -> None:
        self._password = password
        self.away = False
        """Killed, or paused: not to be asked."""
        super().__init__(program, over="loopback", settings=settings)
        self.id = str(self.ask("CLUSTER", "MYID").decode())

    def _login(self) -> tuple[int, str]:
        self.port = _free_ports()
        return self.port, self._password

    @property
    def direct(self) -> redis.Redis:
        """A client of this node alone, whatever the cluster says, that sends everything once."""
        return self._direct

    def ask(self, *command: str | int) -> Any:
        """Send this node a command."""
        return self._direct.execute_command(*command)  # type: ignore[no-untyped-call]


class PrivateCluster:
    """A running Redis Cluster of this process's own: `with PrivateCluster() as cluster: cluster.client()`.

    `node_timeout` (seconds) is how long a node must be silent to be taken for dead; its replica
    serves about as long after. `settings` are further lines of every node's configuration, such as
    "min-replicas-to-write 1". Raises ServerUnavailable where it does not come up.
    """

    def __init__(
        self, program: Found | None = None, *, node_timeout: float = 1.0, settings: tuple[str, ...] = ()
    ) -> None:
        program = program or best_server()
        self._password, self._clock = secrets.token_hex(16), Clock()
        conf = [
            "cluster-enabled yes",
            f"cluster-node-timeout {round(node_timeout * 1000)}",
            "cluster-require-full-coverage no",  # while a master is away, the other two go on
            "cluster-replica-validity-factor 0",
            f"masterauth {self._password}",
            "repl-diskless-sync yes",
            "repl-diskless-sync-delay 0",
            *settings,
        ]
        self.nodes: list[Node] = []
        try:
            for _ in range(2 * MASTERS):
                self.nodes.append(_start(program, self._password, conf))
            self._join()
        except BaseException:
            self.close()
            raise
        info = self.nodes[0].info
        self._address = "redis+cluster://:" + self._password + "@" + ",".join(f"127.0.0.1:{n.port}" for n in self.nodes)
        self.info = ServerInfo(
            "private", info.version, program.origin, ours=True, product=info.product, form="cluster",
            address=self._address,
        )  # fmt: skip
        self.clock = LiveClock(lambda: [node.direct for node in self.masters()])

    def client(self, *, prefix: str = "") -> ClusterClient:
        """Return a new client; all clients of one cluster share its clock."""
        where = [("127.0.0.1", node.port) for node in self.nodes]
        client = cluster_client(where, self.info, self.clock, password=self._password)
        client.prefix = prefix
        return client

    def masters(self) -> list[Node]:
        """Return the nodes that serve slots, of those that can be asked."""
        claims = sorted((own for own in map(_owns, self.nodes) if own), key=lambda own: own[0])
        # Who was a master before it was killed may believe that it still is: the newest claim counts.
        return list({slots: node for _, node, slots in claims}.values())

    def master_of(self, key: str) -> Node:
        """Return the node that serves a key. Raises ServerUnavailable while none does."""
        slot = key_slot(key.encode())
        for node in self.masters():
            for bounds in (_owns(node) or (0, node, ()))[2]:
                first, _, last = bounds.partition("-")
                if int(first) <= slot <= int(last or first):
                    return node
        raise ServerUnavailable(f"no master serves {key!r} now")

    def kill(self, node: Node) -> None:
        """Kill a server (SIGKILL). It stays dead until `revive`."""
        self._send(node, signal.SIGKILL, away=True)

    def pause(self, node: Node) -> None:
        """Stop a server in its tracks (SIGSTOP): it keeps its connections and says nothing."""
        self._send(node, signal.SIGSTOP, away=True)

    def resume(self, node: Node) -> None:
        """Let a paused server go on (SIGCONT)."""
        self._send(node, signal.SIGCONT, away=False)

    def _send(self, node: Node, number: int, *, away: bool) -> None:
        node.away = away
        node.send_signal(number)

    def revive(self, node: Node) -> None:
        """Start a killed server again, empty: it joins as a replica of whoever has its slots by now.

        If nobody has, it is a master without data, and its replica empties itself to be like it: so
        wait for `failed_over` first.
        """
        node.restart()
        node.away = False

    def failed_over(self, node: Node) -> bool:
        """Whether another serves what `node` served."""
        masters = self.masters()
        return len(masters) == MASTERS and node not in masters

    def whole(self) -> bool:
        """Whether all slots are served, and every master has a replica that is up to date."""
        followers = [node for node in self.nodes if not node.away and _follows(node)]
        return len(self.masters()) == len(followers) == MASTERS and all(
            b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in self.nodes
        )

    def wait(self, condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
        """Wait until a condition holds. Raises JobkitError when the time is over."""
        end = self._clock.monotonic() + seconds
        while not _holds(condition):
            if self._clock.monotonic() > end:
                raise JobkitError(f"{what} did not happen within {seconds:g} s")
            self._clock.sleep(0.005)

    def close(self) -> None:
        """End all servers and remove their folders; closing twice does nothing."""
        for node in self.nodes:
            node.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<jobkit private cluster>"

    def _all_met(self) -> bool:
        ids = {node.id for node in self.nodes}  # until two nodes shook hands, each calls the other by a made-up one
        views = [node.ask("CLUSTER", "NODES").decode().splitlines() for node in self.nodes]
        return all({line.split()[0] for line in view} == ids for view in views)

    def _join(self) -> None:
        masters, replicas = self.nodes[:MASTERS], self.nodes[MASTERS:]
        bounds = [REDIS_CLUSTER_HASH_SLOTS * n // MASTERS for n in range(MASTERS + 1)]
        for n, node in enumerate(masters):
            node.ask("CLUSTER", "ADDSLOTS", *range(bounds[n], bounds[n + 1]))
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", n + 1)
        for other in self.nodes[1:]:
            self.nodes[0].ask("CLUSTER", "MEET", "127.0.0.1", other.port)
        self.wait(self._all_met, "the nodes' meeting", PATIENCE)
        for master, replica in zip(masters, replicas, strict=True):
            replica.ask("CLUSTER", "REPLICATE", master.id)
        self.wait(self.whole, "the cluster's start", PATIENCE)


def _start(program: Found, password: str, settings: list[str]) -> Node:
    for _ in range(TRIES - 1):
        try:
            return Node(program, password, settings)
        except ServerUnavailable:  # somebody took one of its ports meanwhile
            continue
    return Node(program, password, settings)


def _free_ports() -> int:
    """Find a port that is free, as is the one 10,000 above it."""
    while True:
        port = PORTS[0] + secrets.randbelow(PORTS[1] - PORTS[0])
        try:
            for number in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


def _owns(node: Node) -> tuple[int, Node, tuple[str, ...]] | None:
    """What a node says of itself, if it serves slots: (its epoch, itself, ranges of slots)."""
    if node.away:
        return None
    try:
        lines = node.ask("CLUSTER", "NODES").decode().splitlines()
    except redis.RedisError:
        return None
    fields = next(line.split() for line in lines if "myself" in line)
    slots = tuple(field for field in fields[8:] if not field.startswith("["))  # [: a slot that is on the move
    return (int(fields[6]), node, slots) if "master" in fields[2] and slots else None


def _follows(node: Node) -> bool:
    told: Any = node.direct.info("replication")
    return bool(told["role"] == "slave" and told["master_link_status"] == "up")


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except redis.RedisError:
        return False
