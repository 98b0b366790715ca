"""The blow of a campaign on a cluster: the master that holds the queue dies, and its replica takes over."""

from __future__ import annotations

from jobkit.connect import PrivateCluster
from jobkit.queue import Queue

PATIENCE = 30.0
"""Seconds that a failover may take; 2 to 3 are usual."""


class Failover:
    """Each call kills the master of the queue, as soon as it has a replica that is up to date."""

    def __init__(self, cluster: PrivateCluster, queue: Queue) -> None:
        self._cluster, self._queue = cluster, queue

    def __call__(self) -> None:
        """Kill it, wait for the failover, and start it again, to be a replica."""
        cluster = self._cluster
        master = cluster.master_of(self._queue.keys.job)
        cluster.kill(master)
        cluster.wait(lambda: cluster.failed_over(master), "the failover", PATIENCE)
        cluster.revive(master)
        cluster.wait(cluster.whole, "the return of the killed master", PATIENCE)
