"""A Redis Cluster for a module of tests, and what is done to it."""

import contextlib

import pytest
import redis as redis_py

from jobkit.connect import PrivateCluster


@pytest.fixture(scope="module")
def cluster(live_server):  # which says whether a server can be had
    with PrivateCluster() as cluster:
        yield cluster


@pytest.fixture
def redis(cluster):
    cluster.wait(cluster.whole, "what the test before left")
    with cluster.client() as client:
        client.flushall()
        yield client


@contextlib.contextmanager
def cut_off(cluster, master):
    """Break the link from a master to its replica, and keep it broken."""
    replica = replica_of(cluster, master)
    password = replica.ask("CONFIG", "GET", "masterauth")[1]
    replica.ask("CONFIG", "SET", "masterauth", "wrong")
    master.ask("CLIENT", "KILL", "TYPE", "replica")
    yield
    replica.ask("CONFIG", "SET", "masterauth", password)


def replica_of(cluster, master):
    roles = {node: node.ask("ROLE") for node in cluster.nodes}
    return next(node for node, role in roles.items() if role[0] == b"slave" and role[2] == master.port)


def answered(ask):
    """The answer, or None while Redis gives none."""
    try:
        return ask()
    except redis_py.RedisError:
        return None
