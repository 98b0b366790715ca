"""Design B: a list of ready jobs per priority, served in order."""

from __future__ import annotations

from typing import Any

from jobkit.clock import Seconds, to_ms
from jobkit.errors import ConfigError
from jobkit.keys import PRIORITIES, Keys
from jobkit.ready.backwards import read_lists
from jobkit.scripts import Source, load


class Lists:
    """Ready jobs in ten lists, priority 9 before 8 before ... 0; running ones in a sorted set of deadlines.

    In strict order a busy priority starves those below it. With `fair=N` every N-th job is taken by
    turns, from 9, from 8, ..., or from the next list below that holds one: so whatever waits above
    it, a list that holds jobs gets one in 10 N at least. All processes of a queue must name the
    same `fair`. `every` is the seconds between two ticks of a scheduler, as in the document: a
    delayed job is up to so much late. None: it ticks when it is due, as with the other stores.
    Raises ConfigError.
    """

    name = "lists"
    lease_per_job = False

    def __init__(self, *, fair: int | None = None, every: Seconds | None = 2) -> None:
        if fair is not None and (not isinstance(fair, int) or isinstance(fair, bool) or not 2 <= fair <= 1000):
            raise ConfigError(f"fair is a whole number from 2 to 1000, or None, got {fair!r}")
        self.fair = fair
        self.every = None if every is None else to_ms(every, "every", least=1) / 1000

    @property
    def kind(self) -> str:
        """What the server remembers of it."""
        return "lists" if self.fair is None else f"lists fair={self.fair}"

    def __repr__(self) -> str:
        return "Lists()" if self.fair is None else f"Lists(fair={self.fair})"

    @property
    def source(self) -> Source:
        """The Lua prelude."""
        before = f"local FAIR = {self.fair or 0}\n{load('deadlines', 'jobkit.ready').text}"
        return load("lists", "jobkit.ready").after(before)

    def scan(self, redis: Any, keys: Keys) -> tuple[set[bytes], str]:
        """Return the ids of all jobs that wait in the lists."""
        return read_lists(redis, [keys.alone, *map(keys.priority, PRIORITIES)]), ""
