"""One leader among many schedulers: a lease, and a number that makes a late leader harmless.

    elect.lua     SET leader ME NX PX 10000, and the next number     nobody leads: take the lead
                  GET leader is ME, then PEXPIRE                     it is ours: keep it
    resign.lua    GET leader is ME, then DEL                         give it up

A lease can't promise that only one acts. A leader may stand still for longer than it (its process
is stopped, its machine swaps, its network hangs), and go on as if nothing had happened, while
another leads. So each leader gets a fencing number, one more than the last: it travels with what a
leader writes, and the script that writes (`occur.lua`) refuses any number but the newest.
"""

from __future__ import annotations

import logging
from random import Random
from typing import Any

from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.errors import ConfigError
from jobkit.job import check_text
from jobkit.queue import Queue
from jobkit.submission import LEAST_LEASE

log = logging.getLogger("jobkit.scheduler")


class Leader:
    """One who would lead the schedulers of a queue.

    `lease` is seconds: so long nobody leads after a leader has died. `name` must be nobody else's;
    by default it is a fresh one. Raises DelayError, JobError for a name that is none, and
    ConfigError for what is no Queue.
    """

    def __init__(
        self, queue: Queue, name: str | None = None, *, lease: Seconds = 10, rng: Random | None = None
    ) -> None:
        if not isinstance(queue, Queue):
            raise ConfigError(f"a leader is one of a Queue, got {queue!r}")
        self.queue = queue
        self.name = check_text(name or f"scheduler-{(rng or new_rng()).getrandbits(32):08x}", "a leader's name")
        self.lease_ms = to_ms(lease, "lease", least=LEAST_LEASE)
        self.number: int | None = None
        """The fencing number, as far as this one knows; None: it does not lead."""
        self._renew_at = float("-inf")

    def __repr__(self) -> str:
        return f"Leader({self.name!r}, {f'number {self.number}' if self.number else 'standby'})"

    def elect(self) -> int | None:
        """Take the lead or keep it: the fencing number, or None if another leads. May be sent again."""
        asked = self.queue.clock.monotonic()
        number, left = self.queue.call("elect", me=self.name, lease_ms=self.lease_ms)
        if number and number != self.number:
            log.info("%s leads %s, with number %d", self.name, self.queue.name, number)
        elif self.number and not number:
            self.deposed()
        self.number = number or None
        self._renew_at = asked + (self.lease_ms / 3 if number else left) / 1000
        return self.number

    def lead(self) -> int | None:
        """As `elect`; but one that leads asks Redis only when a third of its lease is over."""
        return self.number if self.number and self.wait > 0 else self.elect()

    @property
    def wait(self) -> float:
        """The seconds until it should be asked again: to renew its lease, or to try when the other's has ended."""
        return max(0.0, self._renew_at - self.queue.clock.monotonic())

    def deposed(self) -> None:
        """Take note that a newer leader was seen: a write with this one's number was refused."""
        log.warning("%s leads %s no more: its number was %s", self.name, self.queue.name, self.number)
        self.number = None

    def resign(self) -> None:
        """Give up the lead, if it is ours; the others are told by the bell."""
        self.queue.call("resign", me=self.name)
        self.number = None

    def holder(self) -> str | None:
        """Return the name of who leads now, by the server; None: nobody."""
        name: Any = self.queue.redis.get(self.queue.keys.leader)
        return None if name is None else str(name.decode())
