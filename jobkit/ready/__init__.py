"""Ready stores: where a job waits between its moment and its worker.

A store is a Lua prelude of a few small functions (push, take, drop, renew, expired, ...) that
the loader puts before every verb, and a small class that names it.
"""

from jobkit.ready.streams import Streams

__all__ = ["Streams"]
