"""A private Redis Cluster, the clients of one, and a queue on it through failovers."""

import gc

import pytest
import redis as redis_py
from redis.exceptions import RedisClusterException
from support.cluster import cluster, redis
from support.stores import STORES
from support.wire import Wire

import jobkit as jk
from jobkit.cli.common import missed
from jobkit.connect import ClusterClient, address_for_others, connect, privatecluster, without_retries
from jobkit.connect.given import check_client
from jobkit.connect.private import best_server
from jobkit.errors import ConfigError, UnsafeServer

__all__ = ["cluster", "redis"]

LOST = (redis_py.ConnectionError, redis_py.TimeoutError)


def given(cluster, **settings):
    """A client as somebody makes one who does not know the kit."""
    node = cluster.masters()[0]
    settings = {
        "host": "127.0.0.1",
        "port": node.port,
        "password": cluster.client().get_connection_kwargs()["password"],
    } | settings
    return redis_py.RedisCluster(**settings)


CLIENTS = {
    "ours": lambda cluster: cluster.client(),
    "by its URL": lambda cluster: connect(cluster.info.address, prefix="lab:"),
    "given": given,
}


@pytest.fixture(params=CLIENTS)
def client(request, cluster, redis):
    return CLIENTS[request.param](cluster)


def test_a_command_says_of_a_cluster_too_that_there_is_no_such_queue(client, capsys):
    queue = jk.Queue(client, "nobody's")
    missed(queue, queue.counts())
    assert "no queue" in capsys.readouterr().err


def test_what_it_is(cluster, redis):
    assert str(redis.server).endswith(f"a private cluster from {best_server().origin}")
    assert cluster.whole()
    assert {cluster.master_of(key).port for key in "abc"} == {node.port for node in cluster.masters()}
    assert "redis+cluster://" in address_for_others(redis)
    assert cluster.info.address.split("@")[0] not in f"{cluster!r} {redis!r} {redis.server!r}"


def test_a_client_by_url_is_held_to_the_safety_rule(cluster, redis):
    stranger = connect(cluster.info.address, prefix="")
    for refused in (
        stranger.flushall,
        lambda: stranger.pipeline().execute_command("FLUSHDB"),
        lambda: stranger.execute_command("CLUSTER FAILOVER"),
    ):
        with pytest.raises(UnsafeServer):
            refused()
    with pytest.raises(ConfigError, match="node of a Redis Cluster"):
        connect(cluster.info.address.replace("+cluster", "").split(",")[0])


def test_text_in_place_of_bytes_is_refused(cluster, redis):
    with pytest.raises(ConfigError, match="payloads are bytes"):
        check_client(given(cluster, decode_responses=True))
    with pytest.raises(ConfigError, match="payloads are bytes"):
        connect(cluster.info.address + "?decode_responses=True")


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
def test_a_worker_on_each_kind_of_client(client, store):
    queue = jk.Queue(client, f"q-{store.name}", ready=store(), lease=5)
    worker = jk.Worker(queue, backoff=jk.Table(0))
    runs = []

    @worker.task
    def job(job, n):
        runs.append(n)
        jk.once(queue, job, ("INCR", jk.effect_key(queue, "till")))
        if n == 1 and job.attempt == 1:
            raise OSError
        if n == 2:
            raise jk.Permanent

    queue.submit_many(jk.New("job", {"n": n}, id=str(n)) for n in range(4))
    while worker.step():
        pass
    assert sorted(runs) == [0, 1, 1, 2, 3]
    assert client.get(jk.effect_key(queue, "till")) == b"4"
    assert [letter.id for letter in queue.dead()] == ["2"]
    assert queue.repair() == []
    assert queue.counts().lost == 0


def test_repair_asks_the_master_of_the_queue_alone(cluster, redis):
    queue = jk.Queue(redis, "a")
    queue.submit("t", id="j")
    redis.delete(queue.keys.ready)

    def scans():
        return [
            node.direct.info("commandstats").get("cmdstat_scan", {"calls": 0})["calls"] for node in cluster.masters()
        ]

    before, masters = scans(), cluster.masters()
    assert queue.repair() == ["j"]
    asked = [master for master, n, m in zip(masters, before, scans(), strict=True) if m > n]
    assert asked == [cluster.master_of(queue.keys.job)]


def test_time_moves_on_every_master(cluster, redis):
    queues = [jk.Queue(redis, name) for name in "abcdef"]
    assert len({cluster.master_of(queue.keys.job) for queue in queues}) < len(queues)  # several slots on one
    for queue in queues:
        queue.submit("t", delay=100)
    redis.clock.advance(100)
    assert [queue.promote().moved for queue in queues] == [1] * 6


def test_a_cluster_that_is_away_is_a_connection_error(cluster, redis, monkeypatch):
    """redis-py's own error is no RedisError, and would end the loops that wait for Redis to come back."""

    def away(*_, **__):
        raise RedisClusterException("Redis Cluster cannot be connected")

    client = given(cluster)
    queue = jk.Queue(client, "q")
    monkeypatch.setattr(client.nodes_manager, "get_node_from_slot", away)
    for ask in (lambda: queue.submit("t"), lambda: queue.claim("w")):
        with pytest.raises(redis_py.ConnectionError, match="cannot be connected"):
            ask()


def test_a_claim_is_sent_once_and_its_lost_reply_is_an_error(redis):
    wire = Wire()
    queue = jk.Queue(wire.client(redis), "q")
    queue.submit_many([jk.New("t")] * 2)
    queue.claim("w")
    sent, wire.lose = wire.scripts(), 1
    with pytest.raises(LOST):
        queue.claim("w")
    assert wire.scripts() == sent + 1
    assert queue.counts().running == 2


def test_what_may_be_sent_again_is(redis):
    wire = Wire()
    queue = jk.Queue(wire.client(redis), "q")
    queue.submit("t")
    (claim,) = queue.claim("w")
    wire.lose = 1
    queue.ack(claim)
    assert wire.lost == 1
    assert queue.counts().totals["done"] == 1


@pytest.mark.parametrize("kind", ["given", "ours"])
def test_the_end_of_a_queue_leaves_its_client_alive(cluster, redis, kind):
    client = CLIENTS[kind](cluster)
    queue = jk.Queue(client, "q")
    assert isinstance(queue.redis, ClusterClient)
    assert isinstance(queue.redis, type(client))
    without_retries(client).close()
    del queue
    gc.collect()
    client.set("k", "v")
    assert client.get("k") == b"v"


def test_the_bell_is_heard_from_any_node(cluster, redis):
    queue = jk.Queue(redis, "q")
    home = cluster.master_of(queue.keys.bell)
    for node in cluster.nodes:
        if node is not home:
            with redis_py.Redis.from_pool(node.direct.connection_pool).pubsub() as listener:
                listener.subscribe(queue.keys.bell)
                assert listener.get_message(timeout=5)["type"] == "subscribe"
                queue.submit("t")
                assert listener.get_message(timeout=5)["type"] == "message"


def test_a_port_that_somebody_took_is_tried_again(monkeypatch, cluster):
    free = privatecluster._free_ports
    ports = [cluster.nodes[0].port, free()]
    monkeypatch.setattr(privatecluster, "_free_ports", lambda: ports.pop(0))
    node = privatecluster._start(best_server(), "secret", ["cluster-enabled yes"])
    try:
        assert node.ask("PING")
        assert ports == []
    finally:
        node.close()


def test_all_of_it_ends_with_its_owner(owner, temp, eventually):
    process = owner("from jobkit.connect import PrivateCluster; cluster = PrivateCluster()")
    assert process.stdout.readline() == "ready\n"
    assert len(temp.folders()) == 6
    process.kill()
    eventually(temp.empty, within=5)


def test_shards_are_spread_over_the_masters_and_drained_by_one_worker(cluster, redis):
    queue = jk.ShardedQueue(redis, "orders", shards=6, lease=5)
    worker, runs = jk.Worker(queue, backoff=jk.Table(1)), []

    @worker.task
    def order(job, n):
        runs.append(job.id)
        if n == 7:
            raise jk.Permanent
        if n % 5 == 0 and job.attempt == 1:
            raise OSError

    assert {cluster.master_of(part.keys.job) for part in queue.shards} == set(cluster.masters())
    queue.submit_many(jk.New("order", {"n": n}, id=f"order-{n}") for n in range(30))
    queue.submit_many(jk.New("order", {"n": n}, id=f"{{ada}}{n}", entity="ada") for n in range(1, 4))
    worker.drain()
    assert len(runs) == 30 + 6 + 3
    assert [id for id in runs if "ada" in id] == ["{ada}1", "{ada}2", "{ada}3"]
    assert ([letter.id for letter in queue.dead()], queue.requeue()) == (["order-7"], {"order-7": "requeued"})
    assert (queue.counts().totals["done"], queue.repair()) == (32, [])
