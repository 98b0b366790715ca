"""What is sent again after a lost reply, and the client that never does."""

import contextlib
import socketserver
import threading

import fakeredis
import pytest
import redis as redis_py
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from jobkit.clock import VirtualClock
from jobkit.connect import PrivateServer, connect, without_retries
from jobkit.connect.client import RETRIES, Client, another_pool
from jobkit.connect.fake import FakeRedis
from jobkit.connect.faketime import ClockConnection

LOST = (redis_py.ConnectionError, redis_py.TimeoutError)


ANSWERS = {
    b"PING": b"+PONG\r\n",
    b"INFO": b"$0\r\n\r\n",
    b"HELLO": b"%2\r\n+server\r\n+redis\r\n+proto\r\n:3\r\n",
}


class Lossy(socketserver.StreamRequestHandler):
    """Answers OK to everything but XADD, EVALSHA and EXEC, which it counts, and then loses the reply."""

    def handle(self):
        with contextlib.suppress(ConnectionError, ValueError):
            while line := self.rfile.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int(self.rfile.readline()[1:])
                    words.append(self.rfile.read(size + 2)[:-2].upper())
                if words[0] in {b"XADD", b"EVALSHA", b"EXEC"}:
                    self.server.counted.append(words[0])
                    if self.server.silent:
                        self.server.over.wait(5)
                    return
                self.wfile.write(ANSWERS.get(words[0], b"+OK\r\n"))


@pytest.fixture(params=["closes", "silent"])
def lossy(request):
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lossy)
    server.daemon_threads, server.block_on_close = True, False
    server.counted, server.over, server.silent = [], threading.Event(), request.param == "silent"
    server.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield server
    server.over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def eager():
    return {"retry": Retry(NoBackoff(), 3), "retry_on_error": list(LOST)}


CLIENTS = {
    "as it comes": lambda port: redis_py.Redis(port=port, socket_timeout=0.2),
    "eager": lambda port: redis_py.Redis(port=port, socket_timeout=0.2, **eager()),
    "one connection": lambda port: redis_py.Redis(
        port=port, socket_timeout=0.2, single_connection_client=True, **eager()
    ),
    "blocking pool": lambda port: redis_py.Redis(
        connection_pool=redis_py.BlockingConnectionPool(
            port=port, socket_timeout=0.2, timeout=3, max_connections=2, **eager()
        )
    ),
    "from a URL": lambda port: redis_py.Redis.from_url(f"redis://127.0.0.1:{port}/0?socket_timeout=0.2", **eager()),
    "our own": lambda port: connect(f"redis://127.0.0.1:{port}/0?socket_timeout=0.2"),
}


SENDS = {
    "command": lambda client: client.xadd("s", {"a": 1}),
    "transaction": lambda client: client.pipeline(transaction=True).execute_command("XADD", "s", "*", "a", 1).execute(),
    "script": lambda client: client.register_script("return 1")(),
}


@pytest.mark.parametrize("kind", CLIENTS)
@pytest.mark.parametrize("send", SENDS)
def test_without_retries_everything_is_sent_once(lossy, kind, send):
    with CLIENTS[kind](lossy.port) as client, without_retries(client) as once:
        for sent in (1, 2):
            with pytest.raises(LOST):
                SENDS[send](once)
            assert len(lossy.counted) <= sent  # on a busy machine the connection itself may be too slow
        assert lossy.counted
        assert once.connection_pool is not client.connection_pool
        assert type(once) is type(client)


def test_our_own_client_says_how_often_it_sends(lossy):
    with CLIENTS["our own"](lossy.port) as client:
        with pytest.raises(LOST):
            client.xadd("s", {"a": 1})
        assert len(lossy.counted) == 1 + RETRIES


def test_an_eager_client_stays_eager(lossy):
    with CLIENTS["eager"](lossy.port) as client:
        without_retries(client).close()
        with pytest.raises(LOST):
            client.xadd("s", {"a": 1})
        assert len(lossy.counted) == 4


class LossyFake(ClockConnection):
    """The reply to XADD is lost, after the fake has done it."""

    def read_response(self, *args, **kwargs):
        answer = super().read_response(*args, **kwargs)
        if isinstance(answer, bytes) and b"-" in answer:
            self.disconnect()
            raise redis_py.ConnectionError("lost")
        return answer


@pytest.mark.parametrize("kind", ["ours", "plain", "a blocking pool"])
def test_on_the_fake(kind):
    ours = FakeRedis(VirtualClock())
    client = ours.client()
    if kind == "ours":
        client.connection_pool = another_pool(client.connection_pool, connection_class=LossyFake)
    elif kind == "plain":
        client = redis_py.Redis(
            connection_pool=redis_py.ConnectionPool(
                connection_class=LossyFake, server=ours.server, protocol=2, **eager()
            )
        )
    else:
        pool = redis_py.BlockingConnectionPool(connection_class=LossyFake, server=ours.server, protocol=2, **eager())
        client = redis_py.Redis(connection_pool=pool)
    once = without_retries(client)
    with pytest.raises(redis_py.ConnectionError):
        once.xadd("s", {"a": 1})
    assert ours.client().xlen("s") == 1
    with pytest.raises(redis_py.ConnectionError):
        client.xadd("s", {"a": 1})
    assert ours.client().xlen("s") == 1 + 1 + RETRIES


def test_a_plain_fakeredis_keeps_its_server():
    client = fakeredis.FakeRedis(server=fakeredis.FakeServer(), protocol=2)
    once = without_retries(client)
    client.set("k", "v")
    assert once.get("k") == b"v"


def test_over_a_unix_socket(live):
    once = without_retries(live)
    assert once.connection_pool.connection_class is redis_py.UnixDomainSocketConnection
    live.set("k", "v")
    assert once.get("k") == b"v"
    live.client_kill_filter(_type="normal", skipme=True)
    with contextlib.suppress(redis_py.ConnectionError):  # the pool may notice before it sends
        once.ping()
    assert once.get("k") == b"v"


def test_it_keeps_what_the_client_carries():
    client = connect("fake", clock=VirtualClock(), prefix="lab:")
    once = without_retries(client)
    assert isinstance(once, Client)
    assert (once.clock, once.prefix, once.server) == (client.clock, "lab:", client.server)


def test_tls_and_sentinel_pools_stay_what_they_are():
    client = redis_py.Redis(host="nowhere.invalid", ssl=True, ssl_cert_reqs="required", password="x", db=3)
    once = without_retries(client)
    assert once.connection_pool.connection_class is redis_py.SSLConnection
    connection = once.connection_pool.make_connection()
    assert (connection.db, connection.retry.get_retries() if hasattr(connection.retry, "get_retries") else 0) == (3, 0)

    manager = Sentinel([("127.0.0.1", 1)], password="x", **eager())
    master = manager.master_for("mymaster", redis_class=redis_py.Redis)
    once = without_retries(master)
    pool = once.connection_pool
    assert type(pool) is type(master.connection_pool)
    assert (pool.service_name, pool.is_master, pool.sentinel_manager) == ("mymaster", True, manager)
    assert pool.make_connection().connection_pool.connection_pool_ref() is pool
    assert master.connection_pool.connection_kwargs["retry"] is not None


def test_a_client_made_by_hand_of_a_real_server(server_program):
    with PrivateServer(over="loopback") as server:
        settings = server.client().connection_pool.connection_kwargs
        where = {name: settings[name] for name in ("host", "port", "password")}
        with redis_py.Redis(**where) as client, without_retries(client) as once:
            client.set("k", "v")
            assert once.get("k") == b"v"
            assert once.pipeline().get("k").execute() == [b"v"]
