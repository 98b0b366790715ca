"""When each retry would come: the waits of a policy, drawn for all jobs at once.

Whether a call fails does not change how long the job waits after it, so all waits can be drawn
before anything is decided.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np

from jobkit.errors import ConfigError
from jobkit.progress import bar

BLOCK = 1 << 15
"""Jobs at a time: what a block needs stays in the processor's cache."""

TOO_FAR = np.iinfo(np.int64).max // 4


def blocks(jobs: int) -> list[slice]:
    """The jobs, cut into blocks."""
    return [slice(low, min(low + BLOCK, jobs)) for low in range(0, jobs, BLOCK)]


def waits(policy: Any, attempts: int, jobs: int, rng: Random | np.random.Generator) -> np.ndarray:
    """Draw the wait of `jobs` jobs after their failed run number `attempts`: int64 ms, shape (jobs,).

    A `random.Random`, or a policy without `delays`, is asked as the worker asks it: one
    `delay(attempt, rng)` after the other.
    """
    if isinstance(rng, np.random.Generator) and hasattr(policy, "delays"):
        drawn = np.asarray(policy.delays(np.broadcast_to(np.int64(attempts), (jobs,)), rng))
    else:
        source: Any = rng
        drawn = np.array([policy.delay(attempts, source) for _ in range(jobs)], dtype=np.int64)
    if drawn.shape != (jobs,) or drawn.dtype.kind not in "iu" or (jobs and drawn.min() < 0):
        raise ConfigError("a policy's waits are whole numbers of ms of at least 0, one for each job")
    return drawn


def ticked(times: np.ndarray, poll_ms: int) -> np.ndarray:
    """Move each moment to the scheduler's next tick; without a poll it stays."""
    return -(-times // poll_ms) * poll_ms if poll_ms else times


def retry_times(
    policy: Any, jobs: int, retries: int, rng: Random | np.random.Generator, poll_ms: int = 0
) -> np.ndarray:
    """Draw when each retry comes if every call fails: ms after the first failure, shape (retries, jobs).

    The type is int32 where all of it fits (24.8 days), else int64. With a `random.Random` one job
    after the other is drawn, as one worker would; with a Generator, block by block.
    """
    if isinstance(rng, Random):
        return _fitting(_one_by_one(policy, jobs, retries, rng, poll_ms))
    times = np.empty((retries, jobs), dtype=np.int32)
    for part in bar(blocks(jobs), "draw"):
        now = np.zeros(part.stop - part.start, dtype=np.int64)
        for k in range(retries):
            now = ticked(now + waits(policy, k + 1, len(now), rng), poll_ms)
            if times.dtype == np.int32 and now.max() > np.iinfo(np.int32).max // 2:
                times = times.astype(np.int64)
            times[k, part] = now
    return times


def _one_by_one(policy: Any, jobs: int, retries: int, rng: Random, poll_ms: int) -> np.ndarray:
    times = np.zeros((retries, jobs), dtype=np.int64)
    for job in range(jobs):
        now = np.zeros(1, dtype=np.int64)
        for k in range(retries):
            now = ticked(now + waits(policy, k + 1, 1, rng), poll_ms)
            times[k, job] = now[0]
    return times


def _fitting(times: np.ndarray) -> np.ndarray:
    return times if times.max(initial=0) > np.iinfo(np.int32).max // 2 else times.astype(np.int32)
