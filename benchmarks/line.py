"""A line of the table."""

import statistics
import time
from typing import NamedTuple


class Line(NamedTuple):
    """Medians of the kit's and the bare loop's values, and of their ratios."""

    what: str
    kit: float
    bare: float | None = None
    ratio: float | None = None
    goal: str = ""

    @classmethod
    def of(cls, what, pairs, goal=""):
        """From the pairs (kit, bare) of several runs."""
        kit, plain = zip(*pairs, strict=True)
        ratios = [k / b for k, b in pairs]
        return cls(what, statistics.median(kit), statistics.median(plain), statistics.median(ratios), goal)


def seconds(call, *args):
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start
