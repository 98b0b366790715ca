"""How a sleeper is woken: a pub/sub doorbell, with a poll floor.

Scripts ring when a job becomes due, or will be due before all others. Whoever sleeps waits for
the bell, but never longer than until the next job is due, nor than `floor` seconds: a lost
message (pub/sub promises nothing) then costs one floor, not the job.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from redis.exceptions import RedisError

from jobkit.clock import Clock
from jobkit.connect import AnyRedis

FLOOR = 2.0
"""Seconds between two looks, if no bell rings."""

_SLICE = 0.25
"""Seconds between two looks at `stopped`: a signal must not wait for the floor. No Redis command."""


class Bell:
    """One listener on a queue's bell."""

    def __init__(self, redis: AnyRedis, channel: str, clock: Clock, floor: float = FLOOR) -> None:
        self._redis, self._channel, self._clock, self.floor = redis, channel, clock, floor
        self._listener: Any = None

    def wait(self, seconds: float, stopped: Callable[[], bool] = lambda: False) -> bool:
        """Sleep until it rings, `stopped` says so, or `seconds` (at most the floor) are over; say whether it rang.

        A bell that cannot be heard (the connection is gone) is a floor that is waited out: no
        error leaves this method, and the next call listens anew. A listener that was not there a
        moment ago may have missed a ring, so its first wait returns at once, as if it had rung.
        """
        seconds = max(0.0, min(seconds, self.floor))
        end = self._clock.monotonic() + seconds
        try:
            if self._listener is None:
                self._listener = self._redis.pubsub()  # type: ignore[no-untyped-call]
                self._listener.subscribe(self._channel)
                # The answer to the subscription comes first: from then on no ring is missed.
                self._listener.get_message(timeout=1.0)
                return True
            while True:
                left = end - self._clock.monotonic()
                message = self._listener.get_message(timeout=max(0.0, min(left, _SLICE)))
                if message is not None:  # a ring, or the answer to a new subscription: redis-py connected anew
                    self._drain()
                    return True
                if left <= 0 or stopped():
                    return False
        except (RedisError, OSError, ValueError):
            self.close()
            self._clock.sleep(max(0.0, min(end - self._clock.monotonic(), 0.1)))
            return False

    def _drain(self) -> None:
        """Many rings at once are one: look once. A new subscription ends this: one that is cut off again would not."""
        rung: Any = {"type": "message"}
        while self._listener is not None and rung is not None and rung["type"] == "message":
            rung = self._listener.get_message(timeout=0.0)

    def close(self) -> None:
        """Stop listening."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(Exception):  # it is being thrown away: any state it is in is fine
                listener.close()
