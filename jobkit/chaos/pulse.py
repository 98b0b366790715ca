"""A schedule that must keep its beat while the schedulers that lead are killed and paused."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from redis.exceptions import RedisError

from jobkit.chaos.plan import leader_of, pulse_of
from jobkit.clock import Clock
from jobkit.connect import Connected
from jobkit.errors import JobkitError
from jobkit.processes import Crew
from jobkit.recurring import Schedules

NAME = "pulse"
EVERY = 1.0
"""Seconds between two occurrences: a schedule takes no fewer."""
PATIENCE = 30.0
"""Seconds within which somebody must lead."""


class Beats(NamedTuple):
    """What became of the schedule."""

    occurrences: int
    missing_occurrences: int
    double_occurrences: int
    leaders_killed: int
    leaders_paused: int
    slowest_takeover_s: float


class Schedulers(Crew):
    """Scheduler processes, each of which would lead."""

    def _command(self, name: str) -> list[str]:
        return [sys.executable, "-m", self.target, name]


class Pulse:
    """The schedule, its schedulers, and the blows on whoever leads them, in a thread: beside those on the workers."""

    def __init__(self, redis: Connected, schedulers: int, blows: int) -> None:
        self._queue, self._clock = pulse_of(redis), Clock()
        self._leader = leader_of(self._queue, "books")  # it never runs for the lead: it only looks who has it
        self._schedules = Schedules(self._queue)
        begun = self._schedules.add(NAME, "beat", every=EVERY, catch_up="all:1000", grace=3600)
        self._first = begun.next
        self._crew = Schedulers(redis, "jobkit.chaos.ticking", schedulers)
        self._killed = self._paused = 0
        self._slowest = 0.0
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._strike, args=(blows,), name="jobkit-chaos-leaders")
        self._thread.start()

    def _strike(self, blows: int) -> None:
        """Kill the leader, and pause the next one, so many times each."""
        try:
            for _ in range(blows):
                self._kill()
                self._pause()
        except Exception as error:  # noqa: BLE001 - it is raised where the books are made
            self._error = error

    def _kill(self) -> None:
        """Kill the leader, and start another scheduler, on standby."""
        name = self._until_one_leads()
        self._crew.kill(name)
        self._crew.start()
        self._killed += 1
        self._taken_over_from(name)

    def _pause(self) -> None:
        """Let the leader stand still until another leads; then it goes on, and does not know."""
        name = self._until_one_leads()
        self._crew.freeze(name)
        self._paused += 1
        self._taken_over_from(name)
        self._crew.thaw(name)

    def _until_one_leads(self) -> str:
        self._crew.replace()  # a server that was away when it began has ended one
        return self._wait(lambda: (name := self._leader.holder()) in self._crew.running and name, "a leader")

    def _taken_over_from(self, name: str) -> None:
        """Wait until another leads, and note how long that took."""
        began = self._clock.monotonic()
        self._wait(lambda: self._leader.holder() not in {None, name}, "a new leader")
        self._slowest = max(self._slowest, self._clock.monotonic() - began)

    def _wait(self, condition: Callable[[], object], what: str) -> str:
        end = self._clock.monotonic() + PATIENCE
        while True:
            try:
                found = condition()
            except RedisError:  # the server is being started again
                found = None
            if found:
                return str(found)
            if self._clock.monotonic() > end:
                raise JobkitError(f"the campaign found no {what.removeprefix('a ')} within {PATIENCE:g} s")
            self._clock.sleep(0.01)

    def books(self) -> Beats:
        """End the schedule when all blows are struck, and count its jobs against the slots that there were."""
        self._thread.join()
        if self._error:
            raise self._error
        self._crew.stop()
        end = self._schedules.pause(NAME)
        due = range(self._first, end.last + 1, round(EVERY * 1000))
        made: list[int] = []
        while claims := self._queue.claim("books", 500):
            made += [claim.run_at for claim in claims]
            self._queue.each("ack", claims)
        missing, double = off_beat(due, made)
        return Beats(len(due), missing, double, self._killed, self._paused, self._slowest)

    def close(self) -> None:
        """Stop the schedulers, and what strikes at them."""
        self._thread.join()
        self._crew.close()


def off_beat(due: Iterable[int], made: Iterable[int]) -> tuple[int, int]:
    """Return how many slots have no job, and how many jobs are more than one per slot, or of no slot at all."""
    slots, jobs = Counter(due), Counter(made)
    return (slots - jobs).total(), (jobs - slots).total()
