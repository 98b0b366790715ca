"""Clients that see, or lose, what goes over the wire: on the fake and on a real server alike."""

import redis as redis_py

from jobkit.connect import node_of
from jobkit.connect.client import Client, another_pool, make_client
from jobkit.connect.cluster import ClusterClient, cluster_client


class Wire:
    """What a connection has sent, and which replies are to be lost.

    `lose = n` loses the reply of the n-th command from now on whose name is in `names`: the server
    has run it, the client sees its connection break. `row` is how many are lost then, one after
    the other. `before` is called before each of these commands goes out.
    """

    def __init__(self, names=("EVALSHA", "EVAL")):
        self.names = names
        self.lose = 0
        self.row = 1
        self.lost = 0
        self.before = lambda: None
        self.sent = []

    def client(self, redis):
        """Return a client of the same server whose connections are on this wire."""
        if isinstance(redis, ClusterClient):
            settings = {**redis.nodes_manager.connection_kwargs}
            del settings["redis_connect_func"]  # the client's own
            nodes = [(node.host, node.port) for node in redis.get_nodes()]
            client = cluster_client(nodes, redis.server, redis.clock, **settings)
            client.prefix = redis.prefix
            return self._all_nodes(client)
        pool = another_pool(redis.connection_pool)
        pool.connection_class = self._connection(pool.connection_class)
        client = make_client(pool, redis.server, clock=redis.clock, prefix=redis.prefix)
        assert isinstance(client, Client)
        return client

    def _all_nodes(self, client):
        """Put a cluster client's connections on this wire, those to nodes that it finds later, too."""
        make, tapped = client.nodes_manager.create_redis_node, self._connection(redis_py.Connection)

        def tap(node):
            node.connection_pool.disconnect()
            node.connection_pool.connection_class = tapped
            node.connection_pool.reset()
            return node

        client.nodes_manager.create_redis_node = lambda *args, **options: tap(make(*args, **options))
        for node in client.get_nodes():
            tap(node.redis_connection or client.get_redis_connection(node))
        return client

    def _connection(self, base):
        wire = self

        class Connection(base):
            _command = None

            def send_command(self, *args, **kwargs):
                if args[0] in wire.names:
                    wire.before()
                super().send_command(*args, **kwargs)  # which may connect first, and greet the server
                self._command = args[0]
                wire.sent.append(args)

            def send_packed_command(self, *args, **kwargs):
                self._command = None  # a pipeline, which has no name; or send_command, which says it after this
                super().send_packed_command(*args, **kwargs)

            def read_response(self, *args, **kwargs):
                try:
                    reply = super().read_response(*args, **kwargs)
                except redis_py.ResponseError as error:
                    reply = error
                if self._command in wire.names and wire.lose:
                    wire.lose -= 1
                    if wire.lose == 0:
                        wire.lost += 1
                        wire.lose = wire.lost < wire.row
                        self.disconnect()
                        raise redis_py.ConnectionError("the reply was lost on its way")
                if isinstance(reply, Exception):
                    raise reply
                return reply

        return Connection

    def scripts(self):
        """Return how many scripts were sent."""
        return sum(args[0] in {"EVALSHA", "EVAL"} for args in self.sent)


def listeners(redis, channel):
    """Return how many listen to a channel; on a cluster, at the node that the kit's bells listen at."""
    return redis.pubsub_numsub(channel, **node_of(redis, channel))[0][1]
