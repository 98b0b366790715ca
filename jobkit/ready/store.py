"""What a queue asks of its ready store."""

from __future__ import annotations

from typing import Any, Protocol

from jobkit.keys import Keys
from jobkit.scripts import Source


class Store(Protocol):
    """A ready store: where ready jobs wait, and how a running one is found when its worker is lost."""

    @property
    def name(self) -> str:
        """Of the design: `streams`, `lists` or `leases`."""
        ...

    @property
    def lease_per_job(self) -> bool:
        """Whether a job may have a lease of its own."""
        ...

    @property
    def every(self) -> float | None:
        """The seconds between two ticks of a scheduler; None: it ticks when the bell rings or a job is due."""
        ...

    @property
    def kind(self) -> str:
        """What the server remembers of it, so that all processes of a queue must agree."""
        ...

    @property
    def source(self) -> Source:
        """The Lua prelude."""
        ...

    def scan(self, redis: Any, keys: Keys) -> tuple[set[bytes], str]:
        """Return the ids of all jobs that wait in the store, and how far was read (for `adopt.lua`)."""
        ...
