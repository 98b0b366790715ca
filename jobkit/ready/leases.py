"""Design C: one list of ready jobs, and a visibility timeout for each that is claimed."""

from __future__ import annotations

from typing import Any

from jobkit.keys import Keys
from jobkit.ready.backwards import read_lists
from jobkit.scripts import Source, load


class Leases:
    """Ready jobs in one list, running ones in a sorted set of the deadlines of their leases.

    A job may have a lease of its own: `submit(lease=)`. A deadline is set by whoever claims or
    extends, and holds for whoever recovers.
    """

    name = kind = "leases"
    lease_per_job = True
    every: float | None = None

    @property
    def source(self) -> Source:
        """The Lua prelude."""
        return load("leases", "jobkit.ready").after(load("deadlines", "jobkit.ready").text)

    def scan(self, redis: Any, keys: Keys) -> tuple[set[bytes], str]:
        """Return the ids of all jobs that wait in the lists."""
        return read_lists(redis, [keys.ready, keys.alone]), ""
