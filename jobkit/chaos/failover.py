"""The blow of a campaign on a cluster: a master that holds a part of the queue dies, and its replica takes over."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import cycle

from jobkit.connect import PrivateCluster
from jobkit.queue import Queue

PATIENCE = 30.0
"""Seconds that a failover may take; 2 to 3 are usual."""


class Failover:
    """Each call kills the master of the next of these queues: the shards of one, by turns."""

    def __init__(self, cluster: PrivateCluster, queues: Iterable[Queue]) -> None:
        self._cluster, self._queues = cluster, cycle(queues)

    def __call__(self) -> None:
        """Kill it, wait for the failover, and start it again, to be a replica before the next is killed."""
        cluster = self._cluster
        master = cluster.master_of(next(self._queues).keys.job)
        cluster.kill(master)
        cluster.wait(lambda: cluster.failed_over(master), "the failover", PATIENCE)
        cluster.revive(master)
        cluster.wait(cluster.whole, "the return of the killed master", PATIENCE)
