"""The ready store of one shard: any store, and the number of shards that there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobkit.keys import Keys
from jobkit.ready.store import Store
from jobkit.scripts import Source


@dataclass(frozen=True)
class Sharded:
    """A store that remembers on the server of how many shards its queue is one: all processes must name the same."""

    store: Store
    shards: int

    @property
    def name(self) -> str:
        """Of the store's design."""
        return self.store.name

    @property
    def lease_per_job(self) -> bool:
        """Whether a job may have a lease of its own."""
        return self.store.lease_per_job

    @property
    def every(self) -> float | None:
        """The seconds between two ticks of a scheduler, where the store says it."""
        return self.store.every

    @property
    def kind(self) -> str:
        """What the server remembers of it."""
        return f"{self.store.kind} in {self.shards} shards"

    @property
    def source(self) -> Source:
        """The Lua prelude."""
        return self.store.source

    def scan(self, redis: Any, keys: Keys) -> tuple[set[bytes], str]:
        """Return the ids of all jobs that wait in the store, and how far was read."""
        return self.store.scan(redis, keys)
