"""URLs and clients that come from outside: what can't work is refused in one clear sentence, without secrets."""

import contextlib
import socketserver
import threading
import traceback

import fakeredis
import pytest
import redis as redis_py
from redis import asyncio

from jobkit.connect import PrivateServer, check_client, connect
from jobkit.errors import ConfigError, JobkitError, ServerUnavailable

SECRETS = ("hunter2", "ada-the-user")
LOGIN = "ada-the-user:hunter2@"


@pytest.fixture
def server(live_server):
    with PrivateServer(over="loopback") as server:
        yield server


@pytest.fixture
def port(server):
    return server.client().connection_pool.connection_kwargs["port"]


def refused(url, kind, text):
    with pytest.raises(kind, match=text) as caught:
        connect(url)
    assert "\n" not in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert not [secret for secret in SECRETS if secret in shown]


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        (
            f"redis://{LOGIN}127.0.0.1:1/0",
            ServerUnavailable,
            r"nothing answers at redis://127\.0\.0\.1:1/0 \(Connection refused\)",
        ),
        (f"rediss://{LOGIN}127.0.0.1:1", ServerUnavailable, "nothing answers at rediss://"),
        ("unix:///nowhere/redis.sock?password=hunter2", ServerUnavailable, "No such file"),
        (f"redis://{LOGIN}nowhere.invalid:6379", ServerUnavailable, "nothing answers"),
        (f"http://{LOGIN}127.0.0.1:1", ConfigError, "begins with redis://"),
        ("localhost:6379", ConfigError, "begins with redis://"),
        ("fakes", ConfigError, "the word fake or private; got 'fakes'$"),
        ("Privat", ConfigError, "got 'Privat'$"),
        ("localhost:6379", ConfigError, "got 'localhost:6379'$"),
        ("10.0.0.7:6380", ConfigError, "got '10.0.0.7:6380'$"),
        ("hunter2", ConfigError, "got something else"),
        (":hunter2@127.0.0.1:6379", ConfigError, "got something else"),
        (f"{LOGIN}127.0.0.1:6379", ConfigError, "got something else"),
        (f"{LOGIN}redis://127.0.0.1:6379", ConfigError, "got something else"),
        (f"{LOGIN}redis+cluster://127.0.0.1", ConfigError, "got something else"),
        ("redis://127.0.0.1:hunter2", ConfigError, "the URL is not one that redis-py can read"),
        ("redis://[hunter2", ConfigError, "the URL is not one"),
        ("redis://:hunter2/x@127.0.0.1:1", ConfigError, "the URL is not one"),
        ("redis://:12/hunter2@127.0.0.1:1", ServerUnavailable, "nothing answers at the URL"),
        ("redis://:12?hunter2@127.0.0.1:1", ServerUnavailable, "nothing answers at the URL"),
        ("redis://:12#hunter2@127.0.0.1:1", ServerUnavailable, "nothing answers at the URL"),
        (f"REDIS://{LOGIN}127.0.0.1:1", ConfigError, "begins with redis://"),
        ("redis://127.0.0.1:1?hunter3=hunter2", ConfigError, "option that redis-py does not know"),
    ],
)
def test_what_can_not_work(url, kind, text):
    refused(url, kind, text)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("privat", "; JOBKIT_REDIS is 'privat'"),
        ("hunter2", "; JOBKIT_REDIS is something else"),
        ("http://h", "http://"),
    ],
)
def test_what_stands_in_the_environment_is_named(setting, says, monkeypatch):
    monkeypatch.setenv("JOBKIT_REDIS", setting)
    refused(None, ConfigError, says)


def test_a_wrong_password_and_none(port):
    refused(f"redis://:hunter2@127.0.0.1:{port}", ConfigError, "refuses the user or password")
    refused(f"redis://{LOGIN}127.0.0.1:{port}", ConfigError, "refuses the user or password")
    refused(f"redis://127.0.0.1:{port}", ConfigError, "refuses the user or password")


def test_no_repr_shows_a_password(server):
    password = server.client().connection_pool.connection_kwargs["password"]
    client = connect(server.client().server.address)
    for thing in (
        client,
        client.server,
        client.connection_pool,
        client.pipeline(),
        client.connection_pool.make_connection(),
    ):
        assert password not in f"{thing!r} {thing}"


@pytest.mark.parametrize("setting", ["decode_responses=True", "protocol=3"])
def test_settings_in_the_url_that_would_change_answers(server, setting):
    address = f"{server.client().server.address}?{setting}"
    if "decode" in setting:
        with pytest.raises(ConfigError, match="decode_responses=True can't carry jobs"):
            connect(address)
    else:
        assert connect(address).connection_pool.connection_kwargs["protocol"] == 2


def test_a_server_that_evicts_is_warned_of(server):
    ours = server.client()
    address = ours.server.address
    ours.config_set("maxmemory-policy", "allkeys-lru")
    connect(address)  # without a limit nothing is evicted
    ours.config_set("maxmemory", "100mb")
    with pytest.warns(UserWarning, match="evicts keys .*allkeys-lru"):
        connect(address)


def test_a_user_who_may_not_ask_for_info(server, port):
    server.client().execute_command("ACL", "SETUSER", "ada-the-user", "on", ">hunter2", "~*", "+@all", "-info")
    client = connect(f"redis://{LOGIN}127.0.0.1:{port}")
    assert client.server.version == "unknown"
    assert client.ping()


class Pretender(socketserver.StreamRequestHandler):
    """Says +OK and PONG, and tells in INFO whatever the test wants."""

    def handle(self):
        with contextlib.suppress(ConnectionError, ValueError):
            while line := self.rfile.readline():
                words = []
                for _ in range(int(line[1:])):
                    size = int(self.rfile.readline()[1:])
                    words.append(self.rfile.read(size + 2)[:-2].upper())
                told = self.server.told.encode()
                answers = {b"PING": b"+PONG\r\n", b"INFO": b"$%d\r\n%s\r\n" % (len(told), told)}
                self.wfile.write(answers.get(words[0], b"+OK\r\n"))


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("redis_version:6.0.16\r\n", r"is Redis 6\.0\.16; 6\.2 is the oldest"),
        ("redis_version:7.2.4\r\nredis_mode:cluster\r\n", "node of a Redis Cluster: give redis\\+cluster://"),
        ("redis_version:7.2.4\r\ncluster_enabled:1\r\n", "node of a Redis Cluster: give redis\\+cluster://"),
        ("redis_version:255.255.255\r\n", ""),
        ("redis_version:7.2.4-rc1\r\n", ""),
        ("redis_version:unstable\r\n", ""),
        ("nothing:1\r\n", ""),
    ],
)
def test_by_what_a_server_tells(told, text):
    pretender = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Pretender)
    pretender.daemon_threads, pretender.told = True, told
    thread = threading.Thread(target=pretender.serve_forever, args=[0.01])
    thread.start()
    try:
        url = f"redis://{LOGIN}127.0.0.1:{pretender.server_address[1]}"
        if text:
            refused(url, ConfigError, text)
        else:
            with connect(url) as client:
                assert client.ping()
    finally:
        pretender.shutdown()
        thread.join()
        pretender.server_close()


PLAIN = {"protocol": 2, "server": fakeredis.FakeServer()}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: redis_py.Redis(decode_responses=True), "payloads are bytes"),
        (lambda: fakeredis.FakeRedis(decode_responses=True, **PLAIN), "payloads are bytes"),
        (lambda: fakeredis.FakeRedis(protocol=3, server=fakeredis.FakeServer()), "RESP3"),
        (asyncio.Redis, "synchronous"),
        (lambda: fakeredis.FakeAsyncRedis(server=fakeredis.FakeServer()), "synchronous"),
        (lambda: redis_py.Redis().pipeline(), "not a pipeline"),
        (lambda: object.__new__(asyncio.RedisCluster), "synchronous"),
        (lambda: "redis://127.0.0.1", "got builtins.str"),
        (lambda: None, "got builtins.NoneType"),
        (redis_py.ConnectionPool, "got redis.connection.ConnectionPool"),
    ],
)
def test_clients_that_are_refused(make, text):
    with pytest.raises(ConfigError, match=text) as caught:
        check_client(make())
    assert isinstance(caught.value, JobkitError)


def test_clients_that_are_welcome(redis):
    check_client(redis)
    check_client(redis_py.Redis())
    check_client(redis_py.Redis(connection_pool=redis_py.BlockingConnectionPool()))
    check_client(fakeredis.FakeRedis(**PLAIN))
