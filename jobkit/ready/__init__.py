"""Ready stores: where a job waits between its moment and its worker.

A store is a Lua prelude of a few small functions (push, take, drop, renew, expired, ...) that
the loader puts before every verb, and a small class that names it.
"""

from __future__ import annotations

import re

from jobkit.errors import ConfigError
from jobkit.ready.leases import Leases
from jobkit.ready.lists import Lists
from jobkit.ready.sharded import Sharded
from jobkit.ready.store import Store
from jobkit.ready.streams import Streams

__all__ = ["STORES", "Leases", "Lists", "Sharded", "Store", "Streams", "store_of"]

STORES: dict[str, type[Streams | Lists | Leases]] = {
    "streams": Streams,
    "lists": Lists,
    "leases": Leases,
}
"""By the names of their designs: A, B and C."""


def store_of(kind: str) -> Store:
    """Make a store of what the server remembers of it, or of the name of its design. Raises ConfigError."""
    if parts := re.fullmatch(r"(.+) in (\d+) shards", kind):
        return Sharded(store_of(parts[1]), int(parts[2]))
    if fair := re.fullmatch(r"lists fair=(\d+)", kind):
        return Lists(fair=int(fair[1]))
    if kind not in STORES:
        raise ConfigError(f"a ready store is one of {', '.join(STORES)}, got {kind!r:.100}")
    return STORES[kind]()
