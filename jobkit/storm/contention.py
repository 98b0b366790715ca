"""Many clients, one row: what backoff does when everybody wants to write the same thing.

The model of M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015. Each client
wants one successful write to one versioned row. An attempt sends a read, gets the version, sends a
write with that version, gets the answer. The write succeeds if no other write succeeded at the
server between this client's read and its write. After a failure the client waits and reads again.
Every one-way message takes |Normal(10, 2)| ms; the server takes no time; all clients start at 0.

Time is continuous here, so waits are not cut to whole ms as in the queue.

It need not be played message by message. Between two successes that follow each other, every
client that read before the first of them fails exactly once: its next read comes after it. So there
is one step per success, and many runs take it side by side.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from jobkit.backoff import Decorrelated, Exponential, Table, equal, full, none
from jobkit.logs import counted
from jobkit.progress import bar
from jobkit.storm import given

MESSAGE_MS, SPREAD_MS = 10.0, 2.0

CLIENTS_AT_ONCE = 20_000
"""Runs times clients in one batch: its arrays stay in the processor's cache."""


def strategies(base: float = 0.005, cap: float = 2) -> dict[str, Any]:
    """The five of the article, by its names; base and cap in seconds."""
    return {
        "none": Table(0),
        "exponential": Exponential.aws(base, cap=cap, jitter=none),
        "equal": Exponential.aws(base, cap=cap, jitter=equal),
        "full": Exponential.aws(base, cap=cap, jitter=full),
        "decorrelated": Decorrelated(base, cap=cap),
    }


class Contention(NamedTuple):
    """The outcome of some runs, one entry per run in each array."""

    clients: int
    time_ms: np.ndarray
    """When the last client knew that its write had succeeded: float64, (runs,)."""
    calls: np.ndarray
    """Writes sent, the successful ones included: int64, (runs,)."""
    last_write_ms: np.ndarray
    """When the last successful write reached the server: float64, (runs,)."""

    def __str__(self) -> str:
        time, calls = self.time_ms.mean(), self.calls.mean()
        means = f"{time:,.0f} ms, {calls:,.0f} calls (means of {counted(len(self.calls), 'run')})"
        return f"{counted(self.clients, 'client')}: {means}"


def occ(policy: Any, clients: int = 100, *, runs: int = 100, seed: given.Chance = 0) -> Contention:
    """Let `clients` clients contend for one row, each until its write succeeds, `runs` times over.

    `policy` is one of `strategies()`, or any policy of the queue: what it waits after the n-th
    failure, the first being n = 1. The waits of a decorrelated policy form one chain per client,
    each from the one before. Raises ConfigError.
    """
    given.policy(policy)
    clients = given.count(clients, "clients", 1, 100_000)
    runs = given.count(runs, "runs", 1, 1_000_000)
    rng = given.generator(seed)
    batch = max(1, CLIENTS_AT_ONCE // clients)
    sizes = [min(batch, runs - done) for done in range(0, runs, batch)]
    parts = [_Batch(policy, clients, size, rng).run() for size in bar(sizes, "contention")]
    return Contention(clients, *(np.concatenate(column) for column in zip(*parts, strict=True)))


class _Batch:
    """Some runs side by side. Row: a run; column: a client, at infinity when it is done."""

    def __init__(self, policy: Any, clients: int, runs: int, rng: np.random.Generator) -> None:
        self.policy, self.rng = policy, rng
        shape = (runs, clients)
        self.read = self._messages(shape)
        self.write = self.read + self._messages(shape) + self._messages(shape)
        self.failures = np.zeros(shape, dtype=np.int64)
        # With no chance at all a chain begins at its base.
        self.last_wait = np.full(shape, policy.wait(1, 0.0) if hasattr(policy, "wait") else 0.0)
        self.calls = np.zeros(runs, dtype=np.int64)

    def _messages(self, shape: int | tuple[int, ...]) -> np.ndarray:
        """How long messages take, each on its way in one direction: ms."""
        took: np.ndarray = np.abs(MESSAGE_MS + SPREAD_MS * self.rng.standard_normal(shape))
        return took

    def run(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the three arrays of Contention."""
        runs, clients = self.read.shape
        row = np.arange(runs)
        time = np.zeros(runs)
        for _ in range(clients):
            winner = self.write.argmin(axis=1)
            success = self.write[row, winner]
            self.calls += 1
            # Only when a client knows of its success it is done; of all, the last to know counts.
            time = np.maximum(time, success + self._messages(runs))
            self.read[row, winner] = self.write[row, winner] = np.inf
            stale = self.read < success[:, None]
            self.calls += np.count_nonzero(stale, axis=1)
            self._fail(np.flatnonzero(stale))
        return time, self.calls, success

    def _fail(self, calls: np.ndarray) -> None:
        """Let attempts (flat numbers) that read before a success fail at their write, wait, and read again."""
        failures = self.failures.take(calls) + 1
        waits = unrounded(self.policy, failures, self.last_wait.take(calls), self.rng)
        answer, read, version, write = self._messages((4, len(calls)))
        reads = self.write.take(calls) + answer + waits + read
        self.failures.put(calls, failures)
        self.last_wait.put(calls, waits)
        self.read.put(calls, reads)
        self.write.put(calls, reads + version + write)


def unrounded(policy: Any, failures: np.ndarray, last: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw waits by a policy's own formula, in ms, before it cuts them to whole ms.

    `last` holds the waits before these, of which only a decorrelated policy makes use. A policy
    without `wait` gives its `delays`.
    """
    if hasattr(policy, "wait"):
        return np.asarray(policy.wait(failures, rng.random(len(failures)), last))
    return np.asarray(policy.delays(failures, rng), dtype=np.float64)
