"""The one that decides when: it makes due jobs ready, takes back those whose lease is over, and fires schedules.

Several schedulers of one queue do no harm, since each script moves a job once; they only ask
Redis more often. Without any, delayed jobs wait: nothing is lost, and the next tick finds them.
With a `leader`, one of many fires the recurring schedules; with `standby`, the others do nothing at all.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from typing import Any, NamedTuple, Self

from redis.exceptions import RedisError

from jobkit.bell import FLOOR, Bell
from jobkit.clock import Seconds, to_ms
from jobkit.errors import ConfigError
from jobkit.leader import Leader
from jobkit.queue import Queue
from jobkit.recurring import Schedules
from jobkit.shards import ShardedQueue
from jobkit.sidebyside import one_by_one, side_by_side

log = logging.getLogger("jobkit.scheduler")

BATCH = 500
"""Jobs moved by one script: about a millisecond in which Redis serves nobody else."""

RECOVER_EVERY = 1.0
TIDY_EVERY = 60.0


class Tick(NamedTuple):
    """What one tick did, and the seconds until the next job, or occurrence, is due (None: none is waiting)."""

    promoted: int
    recovered: int
    buried: int
    wait: float | None
    occurred: int = 0
    """Occurrences of recurring schedules that became jobs."""


class Scheduler:
    """Promotes, recovers and fires schedules, by `tick()` or in a loop of its own.

    `floor` is how long `run` sleeps at most, in seconds; never longer than a third of the lease,
    so that a dead worker's jobs are back after a lease and a third, or a lease and two seconds.
    Where the ready store says how often to tick (`Lists`: every 2 s), `run` is deaf to the bell, and
    a delayed job is late by up to so much.

    `recurring` are the schedules to fire: all that have them may, or, with a `leader`, the one that
    leads. `standby=True` leaves promoting and recovering to the leader, too: one scheduler is active.
    """

    def __new__(cls, queue: Queue | ShardedQueue, **_: Any) -> Self:
        """Make a ShardedScheduler for a sharded queue."""
        kind = ShardedScheduler if isinstance(queue, ShardedQueue) else cls
        return super().__new__(kind)  # type: ignore[return-value]

    def __init__(
        self,
        queue: Queue | ShardedQueue,
        *,
        floor: Seconds = FLOOR,
        recurring: Schedules | None = None,
        leader: Leader | None = None,
        standby: bool = False,
    ) -> None:
        if not isinstance(queue, Queue):
            raise ConfigError(f"a scheduler is one of a Queue, or of a ShardedQueue, got {queue!r}")
        if standby and leader is None:
            raise ConfigError("standby=True needs a leader: who is active, if nobody is elected?")
        every = queue.store.every
        if leader and every and leader.lease_ms <= 2000 * every:
            raise ConfigError(f"the leader's lease must be longer than two ticks, which are {every:g} s apart")
        self.queue = queue
        self.recurring, self.leader, self._standby = recurring, leader, standby
        self._every = every
        self._floor = min(to_ms(floor, "floor", least=1), queue.lease_ms / 3) / 1000
        self._recovered_at = self._tidied_at = float("-inf")
        self._stopping = threading.Event()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.queue!r})"

    def tick(self) -> Tick:
        """Promote all that is due, recover all that is late, fire all that occurs, in steps of a bounded size."""
        leads = self.leader is None or self.leader.elect() is not None
        self._recovered_at = now = self.queue.clock.monotonic()
        if self._standby and not leads:
            return Tick(0, 0, 0, None)
        promoted = ready = dead = 0
        while True:
            moved, wait = self.queue.promote(BATCH)
            promoted += moved
            if moved < BATCH:
                break
        while True:
            late = self.queue.recover(BATCH)
            ready, dead = ready + late.ready, dead + late.dead
            if late.ready + late.dead < BATCH:
                break
        if now - self._tidied_at >= TIDY_EVERY:
            self._tidied_at = now
            self.queue.tidy()
            if self.recurring and leads:
                self.recurring.check()
        occurred, until = self._fire() if leads else (0, None)
        return Tick(promoted, ready, dead, _sooner(wait, until), occurred)

    def tick_lightly(self) -> Tick:
        """Tick, as often as the bell likes: recover only once a second, since leases are longer than that."""
        if self.queue.clock.monotonic() - self._recovered_at >= min(RECOVER_EVERY, self.queue.lease_ms / 3000):
            return self.tick()
        leads = self.leader is None or self.leader.lead() is not None
        if self._standby and not leads:
            return Tick(0, 0, 0, None)
        moved, wait = self.queue.promote(BATCH)
        occurred, until = self._fire() if leads else (0, None)
        return Tick(moved, 0, 0, 0.0 if moved == BATCH else _sooner(wait, until), occurred)

    def _fire(self) -> tuple[int, float | None]:
        """Fire all that occurs; return how many jobs that made, and the seconds until the next occurrence."""
        if self.recurring is None:
            return 0, None
        number, made = self.leader.number if self.leader else None, 0
        while True:
            fired = self.recurring.fire(number)
            made += sum(len(one.slots) for one in fired.occurred)
            if fired.fenced and self.leader:
                self.leader.deposed()
            if fired.fenced or not fired.occurred or fired.wait != 0:
                return made, fired.wait

    def run(self) -> None:
        """Tick until `stop()`, asleep in between. An error is logged, and the next tick tries again."""
        if self.queue.clock.virtual:
            raise ConfigError("on a virtual clock nobody waits: call tick() and advance the clock")
        self.queue.agree()
        bell = Bell(self.queue.redis, self.queue.keys.bell, self.queue.clock, self._floor)
        log.info("scheduler of %s runs", self.queue.name)
        try:
            while not self._stopping.is_set():
                bell.wait(self.safe_tick(), self._stopping.is_set)
        finally:
            bell.close()
            if self.leader:
                with contextlib.suppress(RedisError):  # the lease runs out instead
                    self.leader.resign()

    def safe_tick(self) -> float:
        """Tick lightly, whatever happens; return how long to sleep, in seconds."""
        try:
            if self._every is not None:
                return self._tick_by_the_clock(self._every)
            tick = self.tick_lightly()
        except RedisError as error:
            log.warning("the scheduler of %s cannot reach Redis (%s); it tries again", self.queue.name, error)
            return min(1.0, self._floor)
        except Exception:  # whatever it was, a loop that ended would leave every delayed job waiting
            log.exception("a tick of %s failed; the next one tries again", self.queue.name)
            return min(1.0, self._floor)
        if tick.promoted or tick.recovered or tick.buried or tick.occurred:
            log.debug("%s: %d promoted, %d recovered, %d buried, %d occurred", self.queue.name, *tick[:3], tick[4])
        look = self._recovered_at + self._floor - self.queue.clock.monotonic()  # no lease waits longer than that
        if self.leader:
            look = min(look, self.leader.wait)
        return look if tick.wait is None else min(look, tick.wait)

    def _tick_by_the_clock(self, every: float) -> float:
        """Tick if `every` seconds have passed since the last tick; return the seconds until the next one."""
        left = self._recovered_at + every - self.queue.clock.monotonic()
        if left <= 0:
            self.tick()
            left = self._recovered_at + every - self.queue.clock.monotonic()
        return max(0.0, left)

    def stop(self) -> None:
        """End `run` within a quarter of a second; from any thread or signal handler."""
        self._stopping.set()


class ShardedScheduler(Scheduler):
    """A scheduler for each shard, side by side. `Scheduler(queue)` makes it; its settings are theirs."""

    queue: ShardedQueue  # type: ignore[assignment]

    def __init__(self, queue: ShardedQueue, **settings: Any) -> None:
        if settings.keys() & {"recurring", "leader"}:
            raise ConfigError("schedules and a leader are of one Queue; let the jobs of one submit to the shards")
        self.queue = queue
        self.parts = tuple(Scheduler(shard, **settings) for shard in queue.shards)

    def tick(self) -> Tick:
        """Tick in each shard; one that cannot be reached is logged. Raises its error if none can."""
        ticks = one_by_one(self.parts, lambda part: part.tick(), log)
        wait = min((tick.wait for tick in ticks if tick.wait is not None), default=None)
        promoted, recovered, buried = (sum(done) for done in list(zip(*ticks, strict=True))[:3])
        return Tick(promoted, recovered, buried, wait)

    def tick_lightly(self) -> Tick:
        """Tick: each shard is looked at in turn."""
        return self.tick()

    def safe_tick(self) -> float:
        """Tick lightly in each shard, whatever happens; return how long to sleep, in seconds."""
        return min(part.safe_tick() for part in self.parts)

    def run(self) -> None:
        """Tick in each shard, in a thread of its own, until `stop()`."""
        side_by_side([part.run for part in self.parts], self.stop)

    def stop(self) -> None:
        """End `run` in all shards."""
        for part in self.parts:
            part.stop()


def _sooner(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else min(one, other)
