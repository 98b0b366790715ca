"""What a queue on a Redis Cluster keeps, and loses, when a master dies."""

import threading

import pytest
import redis as redis_py
from support.cluster import answered, cluster, cut_off, redis, replica_of

import jobkit as jk
from jobkit.bell import Bell
from jobkit.clock import Clock

__all__ = ["cluster", "redis"]


def test_a_claim_goes_where_the_cluster_sends_it(cluster, redis):
    """The slot moved to the replica, in order: the client learns it by MOVED, and the replica knows no script."""
    queue = jk.Queue(redis, "q")
    queue.submit_many([jk.New("t", id=id) for id in "ab"])
    (first,) = queue.claim("w")
    master = cluster.master_of(queue.keys.job)
    replica = replica_of(cluster, master)
    cluster.wait(lambda: bool(replica.ask("CLUSTER", "FAILOVER")), "the replica's consent")
    cluster.wait(lambda: cluster.failed_over(master), "the failover")
    (second,) = queue.claim("w")
    queue.ack(first)
    queue.ack(second)
    assert (queue.counts().totals["done"], second.token) == (2, first.token + 1)


def test_a_master_dies_and_a_worker_goes_on(cluster, redis, eventually):
    queue = jk.Queue(redis, "q", lease=5)
    worker, done = jk.Worker(queue), set()
    worker.task(name="t")(lambda job: done.add(job.id))
    bell = Bell(redis, queue.keys.bell, Clock())
    bell.wait(1)
    thread = threading.Thread(target=worker.run)
    thread.start()
    queue.submit("t", id="before")
    eventually(lambda: "before" in done)
    home = cluster.master_of(queue.keys.job)
    eventually(lambda: home.ask("WAIT", 1, 0) == 1)
    cluster.kill(home)
    cluster.wait(lambda: cluster.failed_over(home), "the failover")
    eventually(lambda: answered(lambda: queue.submit("t", id="after")), within=10)
    eventually(lambda: "after" in done, within=10)
    eventually(lambda: queue.submit("t", delay=60) and bell.wait(0.2), within=10)  # it listens at a node that lives
    cluster.revive(home)
    worker.stop()
    thread.join()
    bell.close()
    assert queue.counts().totals["done"] == 2


def test_what_a_broken_link_and_a_failover_lose(cluster, redis, eventually):
    """A submit and a claim were acked, and never reached the replica. Its token counter stands where it stood."""
    queue = jk.Queue(redis, "q")
    queue.submit("t", id="kept")
    home = cluster.master_of(queue.keys.job)
    assert home.ask("WAIT", 1, 2000) == 1
    with cut_off(cluster, home):
        queue.submit("t", id="lost")
        (old,) = queue.claim("old")
        cluster.kill(home)
        cluster.wait(lambda: cluster.failed_over(home), "the failover")
    with pytest.raises(jk.UnknownJob):
        eventually(lambda: answered(lambda: queue.get("lost")), within=10)
    assert queue.get("kept").state is jk.State.READY  # at least once: it is run again
    (new,) = queue.claim("new")
    assert (new.id, new.token) == (old.id, old.token)  # one number twice: no fencing between these two
    queue.ack(old)
    queue.ack(new)  # each is taken for the other
    queue.submit("t", id="kept too")
    assert queue.claim("new")[0].token == old.token + 1
    cluster.revive(home)


def test_min_replicas_refuses_what_would_be_lost(cluster, redis):
    queue = jk.Queue(redis, "q")
    home = cluster.master_of(queue.keys.job)
    queue.submit("t", id="before")
    home.ask("CONFIG", "SET", "min-replicas-to-write", 1)
    try:
        with cut_off(cluster, home):
            for act in (lambda: queue.submit("t", id="refused"), lambda: queue.claim("w")):
                with pytest.raises(redis_py.ResponseError, match="NOREPLICAS"):
                    act()
        assert (queue.counts().ready, queue.counts().totals) == (1, {"submitted": 1})
    finally:
        home.ask("CONFIG", "SET", "min-replicas-to-write", 0)


@pytest.mark.slow
def test_a_master_pauses_and_comes_back_as_a_replica(cluster, redis, eventually):
    queue = jk.Queue(redis, "q")
    queue.submit("t", id="before")
    home = cluster.master_of(queue.keys.job)
    assert home.ask("WAIT", 1, 2000) == 1
    cluster.pause(home)
    cluster.wait(lambda: cluster.failed_over(home), "the failover")
    (claim,) = eventually(lambda: answered(lambda: queue.claim("w")), within=20)
    cluster.resume(home)
    cluster.wait(cluster.whole, "its return")
    queue.ack(claim)
    assert queue.counts().totals["done"] == 1
