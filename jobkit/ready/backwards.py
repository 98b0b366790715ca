"""Reading lists that others push to and pop from meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

PAGE = 1000
"""Entries that a scan reads at a time."""


def read_lists(redis: Any, lists: Iterable[str]) -> set[bytes]:
    """Return what stands in some lists, from the end to the start.

    What is popped at the start shifts nothing then, and what is pushed at the end makes a page
    tell some entries twice, but passes over none.
    """
    ids: set[bytes] = set()
    for name in lists:
        last = -1
        while page := redis.lrange(name, last - PAGE + 1, last):
            ids.update(page)
            last -= PAGE
    return ids
