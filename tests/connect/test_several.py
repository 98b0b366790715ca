"""URLs that name several hosts: what is read out of them, what is refused, and no password is shown."""

import pytest

from jobkit.connect import PrivateServer, several
from jobkit.connect.client import Client
from jobkit.connect.given import connect_url
from jobkit.connect.several import connect_several, shown
from jobkit.errors import ConfigError, ServerUnavailable

LOGIN = "ada-the-user:hunter2@"


@pytest.fixture
def asked(monkeypatch):
    """What a cluster's client would be made of."""
    made = []
    monkeypatch.setattr(several, "cluster_client", lambda nodes, info, clock, **rest: made.append((nodes, info, rest)))
    return made


def test_a_cluster(asked):
    connect_several(f"redis+cluster://{LOGIN}ada.example:7000,[::1]:7001,third?socket_timeout=2", "URL")
    ((nodes, info, settings),) = asked
    assert nodes == [("ada.example", 7000), ("::1", 7001), ("third", 6379)]
    assert (info.ours, info.form, str(info).endswith("a cluster that jobkit did not start")) == (False, "cluster", True)
    assert settings == {"username": "ada-the-user", "password": "hunter2", "socket_timeout": 2.0, "protocol": 2}


def test_one_with_tls_and_a_password_full_of_marks(asked):
    connect_several("rediss+cluster://:%2F%3F%23%40%2C@h/0", "URL")
    ((nodes, _, settings),) = asked
    assert nodes == [("h", 6379)]
    assert settings == {"password": "/?#@,", "ssl": True, "protocol": 2}


def test_sentinels():
    client = connect_several(
        f"redis+sentinel://{LOGIN}a,b:5000/the%20master?sentinel_password=other&socket_timeout=1", "JOBKIT_REDIS"
    )
    pool = client.connection_pool
    assert isinstance(client, Client)
    assert (client.server.form, client.server.origin) == ("master by Sentinel", "JOBKIT_REDIS")
    assert (pool.service_name, pool.is_master) == ("the master", True)
    assert pool.connection_kwargs["password"] == "hunter2"
    asked = [sentinel.connection_pool.connection_kwargs for sentinel in pool.sentinel_manager.sentinels]
    assert [(one["host"], one["port"], one["password"]) for one in asked] == [
        ("a", 26379, "other"),
        ("b", 5000, "other"),
    ]
    assert "hunter2" not in f"{client!r} {pool!r} {client.server!r}"


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        (
            f"redis+cluster://{LOGIN}127.0.0.1:1,127.0.0.1:2",
            ServerUnavailable,
            "nothing answers at redis.cluster://127",
        ),
        (f"redis+sentinel://{LOGIN}127.0.0.1:1/mymaster", ServerUnavailable, "nothing answers at .*/mymaster"),
        (f"redis+sentinel://{LOGIN}127.0.0.1:1", ConfigError, "does not say which master"),
        (f"redis+cluster://{LOGIN}127.0.0.1:1/3", ConfigError, "one database"),
        (f"redis+cluster://{LOGIN}", ConfigError, "names its hosts as"),
        (f"redis+cluster://{LOGIN}a,,b", ConfigError, "names its hosts as"),
        ("redis+cluster://:hunter2/x@h", ConfigError, "names its hosts as"),
        ("redis+cluster://:hunter2#x@h", ConfigError, "names its hosts as"),
        (f"redis+cluster://{LOGIN}h:65536", ConfigError, "names its hosts as"),
        (f"redis+cluster://{LOGIN}a:b", ConfigError, "names its hosts as"),
        (f"redis+cluster://{LOGIN}h?socket_timeout=hunter3", ConfigError, "not one that redis-py can read"),
        (f"redis+sentinel://{LOGIN}h/m?hunter4=1", ConfigError, "option that redis-py does not know"),
        (f"redis+clusters://{LOGIN}h", ConfigError, "which Redis"),
    ],
)
def test_what_can_not_work(url, kind, text):
    with pytest.raises(kind, match=text) as caught:
        connect_url(url, prefix="", origin="URL")
    assert "hunter2" not in str(caught.value)
    assert "ada" not in str(caught.value)


def test_a_single_server_is_no_cluster():
    with PrivateServer(over="loopback") as server:
        url = server.info.address.replace("redis://", "redis+cluster://")
        with pytest.raises(ConfigError, match="is no Redis Cluster: give redis://"):
            connect_url(url, prefix="", origin="URL")
        with pytest.raises(ConfigError, match="refuses the user or password"):
            connect_url(f"redis+cluster://:hunter2@{url.rpartition('@')[2]}", prefix="", origin="URL")


def test_what_is_shown():
    assert shown(f"redis+sentinel://{LOGIN}a:1,b/m?x=hunter2") == "redis+sentinel://a:1,b/m"
    assert shown("redis+cluster://:hunter2/@h") == "the URL"
