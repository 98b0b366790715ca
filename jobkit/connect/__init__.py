"""Which Redis: a private real server, the fake, or one that a URL names.

    connect             the front door: finds one and says which
    Client              a redis.Redis that carries its clock, prefix and server
    ServerInfo          what is known of a server; nothing secret in its repr
    PrivateServer       a throw-away real server of one's own
    address_for_others  the URL by which another process reaches a client's server
    without_retries     the same client, sending every command once at most
    check_client        refuses a client that can't work, with the reason
    check_memory        warns of a server that evicts keys
    require_ours        refuses a server that the kit did not start
    server_of           what is known of any client's server
    find_servers        every server program on this machine

The fake is in jobkit.connect.fake, not imported here: fakeredis brings numpy, which costs 0.4 s.
"""

from jobkit.connect.choose import connect
from jobkit.connect.client import Client
from jobkit.connect.cluster import AnyRedis, ClusterClient, Connected, node_of, usable, without_retries
from jobkit.connect.given import address_for_others, check_client, check_memory
from jobkit.connect.private import PrivateServer
from jobkit.connect.privatecluster import PrivateCluster
from jobkit.connect.safety import ServerInfo, require_ours, server_of
from jobkit.connect.servers import find_servers

__all__ = [
    "AnyRedis",
    "Client",
    "ClusterClient",
    "Connected",
    "PrivateCluster",
    "PrivateServer",
    "ServerInfo",
    "address_for_others",
    "check_client",
    "check_memory",
    "connect",
    "find_servers",
    "node_of",
    "require_ours",
    "server_of",
    "usable",
    "without_retries",
]
