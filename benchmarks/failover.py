"""`make failover`: a master of a private Redis Cluster dies under load, and the books after it.

Three queues, one on each master; a worker process and a submitter for each, 200 jobs/s. The master of the
first is killed. A submitter sends a job again, with the same id, until it is acked; a job is lost if it was
acked and never ran. Cells: median (least - most) of the runs.
"""

import argparse
import contextlib
import itertools
import os
import statistics
import sys
import threading
import time
from pathlib import Path

import redis as redis_py

import jobkit as jk
from jobkit.connect import PrivateCluster
from jobkit.errors import UnknownJob
from jobkit.processes import Crew

ROOT = Path(__file__).parents[1]
PACE = 0.005
"""Seconds between two submits to one queue."""
BEFORE, BROKEN, AFTER = 2.0, 0.3, 2.0
"""Seconds of load before the master dies, of a broken link to its replica, and after the failover."""
SURE = 0.2
"""Seconds after the kill in which what was on its way may still arrive."""
WAYS = {
    "as it comes": ((), False),
    "min-replicas-to-write 1": (("min-replicas-to-write 1", "min-replicas-max-lag 1"), False),
    "WAIT 1 after a submit": ((), True),
}


class Submitter(threading.Thread):
    """Submits to one queue until stopped, and notes when each job was acked."""

    def __init__(self, cluster, name, *, wait):
        super().__init__(daemon=True)
        self.cluster, self.name, self.wait = cluster, name, wait
        self.acked, self.took, self.refused, self.over = {}, [], 0, threading.Event()
        self.last = None
        """The last error that a submit ended with."""
        self.queue = None if wait else jk.Queue(cluster.client(), name)

    def run(self):
        for n in itertools.count():
            id, due = f"{self.name}-{n}", time.monotonic() + PACE
            while not self.over.is_set() and not self.submitted(id):
                self.refused += 1
                time.sleep(0.01)
            if self.over.is_set():
                return
            time.sleep(max(0.0, due - time.monotonic()))

    def submitted(self, id):
        began = time.monotonic()
        try:
            if self.queue is None:
                self.queue = self.straight()
            self.queue.submit("note", id=id)
            if self.wait and self.queue.redis.wait(1, 500) < 1:
                return False
        except (redis_py.RedisError, jk.ServerUnavailable) as error:
            self.last = error
            self.queue = None if self.wait else self.queue
            return False
        self.acked[id] = time.monotonic()
        self.took.append(self.acked[id] - began)
        return True

    def straight(self):
        """WAIT is about the connection that it comes by: so one connection, to the master itself."""
        node = self.cluster.master_of(jk.effect_key(jk.Queue(self.cluster.client(), self.name), ""))
        settings = node.direct.connection_pool.connection_kwargs
        client = redis_py.Redis(
            port=settings["port"], password=settings["password"], single_connection_client=True, socket_timeout=2
        )
        return jk.Queue(client, self.name)

    def longest_pause(self):
        times = sorted(self.acked.values())
        return max(b - a for a, b in itertools.pairwise(times))


def names(cluster):
    """A queue on each master, the one whose master dies first."""
    masters = cluster.masters()
    spread = {cluster.master_of(f"{{line-{n}}}"): f"line-{n}" for n in range(100)}
    return [spread[master] for master in masters]


def run(way, *, broken):
    """One run; returns its figures."""
    settings, wait = WAYS[way]
    with PrivateCluster(settings=settings) as cluster, contextlib.ExitStack() as ends:
        lines = names(cluster)
        crews = []
        for line in lines:
            os.environ["BENCH_QUEUE"] = line
            crews.append(
                ends.enter_context(Crew(cluster.client(), "benchmarks.failover_worker:worker", 1, folder=ROOT))
            )
        submitters = [Submitter(cluster, line, wait=wait) for line in lines]
        for submitter in submitters:
            submitter.start()
        for crew in crews:
            crew.wait(crew.marks, 30, "the first job")
        time.sleep(BEFORE)
        master = cluster.master_of(f"{{{lines[0]}}}")
        if broken:
            cut_off(cluster, master)
            time.sleep(BROKEN)
        killed, killed_ms = time.monotonic(), time.time() * 1000
        cluster.kill(master)
        cluster.wait(lambda: cluster.failed_over(master), "the failover", 30)
        over = time.monotonic() - killed
        cluster.revive(master)  # with min-replicas-to-write the new master takes nothing until it has a replica
        cluster.wait(lambda: any(at > killed + SURE for at in list(submitters[0].acked.values())), "a submit", 30)
        time.sleep(AFTER)
        for submitter in submitters:
            submitter.over.set()
            submitter.join()
        queues = [jk.Queue(cluster.client(), line) for line in lines]
        cluster.wait(lambda: all(map(at_rest, queues)), "the end of the work", 60)
        return books(submitters, crews, queues, killed, killed_ms) | {"the replica serves after, s": over}


def cut_off(cluster, master):
    """Break the link from a master to its replica, for good: by itself it would be mended in a moment."""
    roles = {node: node.ask("ROLE") for node in cluster.nodes}
    replica = next(node for node, role in roles.items() if role[0] == b"slave" and role[2] == master.port)
    replica.ask("CONFIG", "SET", "masterauth", "wrong")
    master.ask("CLIENT", "KILL", "TYPE", "replica")


def books(submitters, crews, queues, killed, killed_ms):
    """What the submitters were told, against what ran and what is left."""
    hit, others = submitters[0], submitters[1:]
    starts = [mark for mark in crews[0].marks() if mark.what == "start"]
    ran = {mark.id for mark in starts}
    forgotten = {id for id in hit.acked if not known(queues[0], id)}
    return {
        "first submit acked after, s": min(at for at in hit.acked.values() if at > killed + SURE) - killed,
        "first job runs after, s": min(mark.at - killed_ms for mark in starts if mark.at > killed_ms + SURE * 1000)
        / 1000,
        "longest pause of the other shards, s": max(other.longest_pause() for other in others),
        "submits acked": len(hit.acked),
        "acked, and lost": len(forgotten - ran),
        "acked and run, and forgotten": len(forgotten & ran),
        "jobs run twice": len(starts) - len(ran),
        "lost on the other shards": sum(
            not known(queue, id) for other, queue in zip(others, queues[1:], strict=True) for id in other.acked
        ),
        "a submit takes, median, ms": statistics.median(hit.took) * 1000,
    }


def at_rest(queue):
    counts = queue.counts()
    return not counts.scheduled + counts.ready + counts.running


def known(queue, id):
    try:
        queue.get(id)
    except UnknownJob:
        return False
    return True


def attempt(way, *, broken):
    """One run; None, and a word of why, for one that did not come to its end."""
    try:
        return run(way, broken=broken)
    except jk.JobkitError as problem:
        print(f"{way}: {problem}", file=sys.stderr)
        return None


def table(runs, ways, *, broken):
    figures = {way: list(filter(None, (attempt(way, broken=broken) for _ in range(runs)))) for way in ways}
    print(f"\n{'the link to the replica was broken for the last 0.3 s' if broken else 'the master is killed'}")
    print(f"{'':40}" + "".join(f"{way:>26}" for way in ways))
    for what in figures[ways[0]][0]:
        cells = []
        for way in ways:
            values = [one[what] for one in figures[way]]
            cells.append(f"{statistics.median(values):.3g} ({min(values):.3g} - {max(values):.3g})")
        print(f"{what:40}" + "".join(f"{cell:>26}" for cell in cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="make failover ARGS=...", description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="runs per column, about 12 s each [5]")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    links = ["whole", "broken"]
    parser.add_argument("--link", nargs="+", choices=links, default=links, help="to the replica, before the kill")
    asked = parser.parse_args()
    for link in asked.link:
        table(asked.runs, asked.ways, broken=link == "broken")
