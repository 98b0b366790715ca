"""A master that Sentinels watch dies under a worker: the client finds the next one, and the worker goes on."""

import threading

import pytest
import redis as redis_py
from redis.sentinel import Sentinel
from support.sentinel import PASSWORD, SentinelSet

import jobkit as jk
from jobkit.connect import connect

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("server_program")]


def by_url(watched):
    return connect(watched.url)


def given(watched):
    where = [("127.0.0.1", one.port) for one in watched.sentinels]
    manager = Sentinel(where, sentinel_kwargs={"password": PASSWORD}, password=PASSWORD, socket_timeout=2)
    return manager.master_for("jobs")


@pytest.mark.parametrize("client", [by_url, given], ids=["by URL", "given"])
def test_a_master_dies_and_a_worker_goes_on(client, eventually):
    with SentinelSet() as watched:
        eventually(watched.ready, within=30)
        queue = jk.Queue(client(watched), "q", lease=5)
        worker, done = jk.Worker(queue), set()
        worker.task(name="t")(lambda job: done.add(job.id))
        thread = threading.Thread(target=worker.run)
        thread.start()
        queue.submit("t", id="before")
        eventually(lambda: "before" in done)
        (claim,) = _claimed(jk.Queue(queue.redis, "other"))
        assert watched.master.ask("WAIT", 1, 2000) == 1
        watched.kill_master()
        eventually(watched.failed_over, within=30)
        eventually(lambda: _submitted(queue, "after"), within=15)
        eventually(lambda: "after" in done, within=15)
        worker.stop()
        thread.join()
        assert queue.counts().totals["done"] == 2
        jk.Queue(queue.redis, "other").ack(claim)  # what was claimed from the old master is settled at the new one


def _claimed(queue):
    queue.submit("t")
    return queue.claim("w")


def _submitted(queue, id):
    try:
        return queue.submit("t", id=id)
    except redis_py.RedisError:
        return None
