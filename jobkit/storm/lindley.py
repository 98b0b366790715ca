"""A queue before one server, solved in arrays: who is done when, by Lindley's recursion.

done[n] = max(arrival[n], done[n-1]) + service is, in whole numbers, a cumulative maximum: that is
exact, and needs no loop. Retries come in by chunks of one timeout: what arrives in a chunk times
out one timeout later, so its retries belong to a later chunk. Times are int64 ns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from jobkit.progress import bar


class Server(NamedTuple):
    """One server, first come first served; an outage freezes it, with what it has in hand."""

    service_ns: int
    outage_ns: int
    """When the outage begins."""
    down_ns: int
    """How long it lasts."""

    def worked(self, at: np.ndarray) -> np.ndarray:
        """Turn moments into the time that the server has been up."""
        up: np.ndarray = at - np.clip(at - self.outage_ns, 0, self.down_ns)
        return up

    def moment(self, worked: np.ndarray) -> np.ndarray:
        """Turn the time that the server has been up into the first such moment."""
        return worked + np.where(worked > self.outage_ns, self.down_ns, 0)

    def serve(self, at: np.ndarray, free: int) -> tuple[np.ndarray, int]:
        """Serve calls that arrive at `at` (sorted); `free`: the up time at which the last one before is done.

        Returns when each is done, and the new `free`.
        """
        ahead = np.arange(len(at)) * self.service_ns
        begin = self.worked(at) - ahead
        begin[0] = max(begin[0], free)
        worked = np.maximum.accumulate(begin) + ahead + self.service_ns
        return self.moment(worked), int(worked[-1])


class Calls(NamedTuple):
    """Calls in the order in which they arrive, one entry each."""

    at: np.ndarray
    """int64 ns."""
    request: np.ndarray
    """Which request it belongs to."""
    attempt: np.ndarray
    """0 for the first try, 1 for the first retry, ..."""
    done: np.ndarray
    """When the server was done with it, int64 ns; -1 for one that was shed."""


def play(fresh: np.ndarray, waits: np.ndarray, server: Server, timeout_ns: int, until_ns: int) -> Calls:
    """Let requests come at `fresh` (sorted), and come again after each timeout, as often as `waits` has rows.

    `waits` (retries, requests): int64 ns between a timeout and the next try. The server serves what
    its caller has given up, too. Calls up to `until_ns` are played.
    """
    retries = len(waits)
    parts: list[Calls] = []
    later = (fresh[:0], fresh[:0], fresh[:0])
    free, came = 0, 0
    for begin in bar(range(0, until_ns, timeout_ns), "queue"):
        end = min(begin + timeout_ns, until_ns)
        upto = int(np.searchsorted(fresh, end))
        due = later[0] < end
        at = np.concatenate([fresh[came:upto], later[0][due]])
        request = np.concatenate([np.arange(came, upto), later[1][due]])
        attempt = np.concatenate([np.zeros(upto - came, dtype=np.int64), later[2][due]])
        later = (later[0][~due], later[1][~due], later[2][~due])
        came = upto
        if not len(at):
            continue
        order = np.lexsort((request, at))
        at, request, attempt = at[order], request[order], attempt[order]
        done, free = server.serve(at, free)
        parts.append(Calls(at, request, attempt, done))
        again = (done - at > timeout_ns) & (attempt < retries)
        request, attempt = request[again], attempt[again]
        retry = (at[again] + timeout_ns + waits[attempt, request], request, attempt + 1)
        later = tuple(np.concatenate(pair) for pair in zip(later, retry, strict=True))  # type: ignore[assignment]
    none = np.zeros(0, dtype=np.int64)
    return Calls(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else Calls(*[none] * 4)
