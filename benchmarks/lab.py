"""What a benchmark needs around it: a server on a core of its own, workers on another (where that can be had)."""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jobkit as jk
from benchmarks.effects import Effects
from jobkit.connect import PrivateServer, address_for_others

CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


class Lab:
    """A server of its own, a client and a queue of it."""

    def __init__(self, program=None):
        self._ends = contextlib.ExitStack()
        self.folder = Path(self._ends.enter_context(tempfile.TemporaryDirectory()))
        server = self._ends.enter_context(PrivateServer(program))
        self.redis = server.client()
        self.queue = jk.Queue(self.redis, "bench")
        self.effects = Effects(self.folder / "effects")
        if len(CORES) > 1:
            os.sched_setaffinity(server.pid, CORES[:1])
            os.sched_setaffinity(0, CORES[-1:])  # and so for the workers

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._ends.close()

    def fresh(self):
        self.redis.flushall()
        self.effects.clear()

    def traffic(self):
        """Commands and socket reads so far."""
        told = self.redis.info("stats")
        return told["total_commands_processed"], told["total_reads_processed"]

    def reads(self):
        return self.traffic()[1]

    def memory(self):
        return self.redis.info("memory")["used_memory"]

    @contextlib.contextmanager
    def worker(self, batch=1, threads=1):
        """A worker process, killed at the end."""
        env = os.environ | {
            "JOBKIT_REDIS": address_for_others(self.redis),
            "BENCH_EFFECTS": str(self.effects.path),
            "BENCH_BATCH": str(batch),
            "BENCH_THREADS": str(threads),
        }
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen([sys.executable, "-m", "benchmarks.worker"], env=env, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def warm_up(self):
        """Wait until the worker has run a job."""
        self.queue.submit("note", {"i": -1})
        self.wait_for(1)
        self.effects.clear()

    def wait_for(self, n):
        """Wait until there are n effects; returns them."""
        self.until(lambda: self.effects.count() >= n)
        return self.effects.read()

    def until(self, condition, within=120.0):
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"not within {within} s; the worker says:\n{(self.folder / 'log').read_text()[-2000:]}"
                )
            time.sleep(0.02)
