"""The loop of `Worker.run`: handler threads, a bell, signals, and an orderly end.

The main thread sleeps on the bell and ticks the scheduler; each handler thread claims, runs and
settles by itself. While there is work, an ack and the next claim are one step on the server.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from jobkit.bell import FLOOR, Bell
from jobkit.errors import ConfigError, RunTooLong
from jobkit.job import Claim, State
from jobkit.runner import PAUSE

if TYPE_CHECKING:
    from jobkit.worker import Worker


class Loop:
    """One `run` of a worker."""

    def __init__(self, worker: Worker, threads: int) -> None:
        if worker.queue.clock.virtual:
            raise ConfigError("on a virtual clock nobody waits: call step() or drain()")
        if not isinstance(threads, int) or isinstance(threads, bool) or not 1 <= threads <= 1000:
            raise ConfigError(f"threads is a whole number from 1 to 1000, got {threads!r}")
        self._worker, self._runner = worker, worker.runner
        self._queue, self._clock = worker.queue, worker.queue.clock
        self._log = worker.runner.log
        self._stopping = threading.Event()
        self._hurry = threading.Event()
        self._news = threading.Condition()
        self._rung = False
        self._threads = [
            threading.Thread(target=self._handle, name=f"jobkit-handler-{n}", daemon=True) for n in range(threads)
        ]

    def stop(self) -> None:
        """Claim no more; the main thread sees it within a quarter of a second. Said twice: wait for nobody."""
        if self._stopping.is_set():
            self._hurry.set()
        self._stopping.set()

    def run(self) -> None:
        """Work until stopped."""
        worker, scheduler = self._worker, self._worker.scheduler
        self._queue.agree()
        bell = Bell(self._queue.redis, self._queue.keys.bell, self._clock)
        with signals(self.stop):
            for thread in self._threads:
                thread.start()
            self._log.info("runs, handler threads: %d", len(self._threads))
            try:
                while not self._stopping.is_set() and not worker.hung:
                    wait = scheduler.safe_tick() if scheduler else FLOOR
                    bell.wait(wait, self._stopping.is_set)
                    self._ring()
            finally:
                self._end()
                bell.close()

    def _ring(self) -> None:
        """Let one handler look. If it finds something it rings in turn: many handlers do not all look for one job."""
        with self._news:
            self._rung = True
            self._news.notify()

    def _handle(self) -> None:
        """Claim, run, settle, again and again; no error but a stop ends it."""
        done: list[Claim] = []
        while True:
            self._rung = False  # before the claim: what rings after it is not missed
            try:
                claims, done = self._settle_and_claim(done), []
                if claims:
                    self._ring()
                    _, done = self._runner.run(claims, self._stopping.is_set)
                elif self._stopping.is_set():
                    return
                else:
                    self._sleep()
            except RunTooLong:  # it was meant for a handler that had just ended
                continue
            except RedisError as error:
                self._log.warning("cannot reach Redis (%s); it tries again", error)
                self._stopping.wait(PAUSE)
            except Exception:  # noqa: BLE001 - a fault of the kit must not end the thread
                self._log.exception("an error in the loop; it goes on")
                self._stopping.wait(PAUSE)

    def _sleep(self) -> None:
        """Wait for a ring since the last claim began; the main thread rings at every floor at the latest."""
        with self._news:
            self._news.wait_for(lambda: self._rung or self._stopping.is_set())

    def _settle_and_claim(self, done: list[Claim]) -> list[Claim]:
        """Ack what is done and claim the next: one step on the server."""
        if self._stopping.is_set():
            self._runner.ack(done)
            return []
        try:
            answers, claims = self._queue.ack_and_claim(done, self._worker.name, self._worker.batch)
        except RedisError:
            # The acks may be sent again, and answer as they did. The claim may not: had it reached
            # the server, its jobs wait for one lease.
            self._stopping.wait(PAUSE)
            self._runner.ack(done)
            return []
        self._runner.acked(done, answers)
        return claims

    def _end(self) -> None:
        """Wait for the handlers, then give back what they still hold, uncharged."""
        self._stopping.set()
        with self._news:
            self._news.notify_all()
        grace, end = self._worker.grace, self._clock.monotonic() + self._worker.grace
        running = len(self._runner.heartbeat.held())
        if running:
            self._log.info("stops, after %g s at the latest; jobs that still run: %d", grace, running)
        for thread in self._threads:
            while thread.is_alive() and self._clock.monotonic() < end and not self._hurry.is_set():
                thread.join(0.1)
        held = self._runner.heartbeat.held()
        finished = [claim for claim in held if claim.state is State.DONE]
        left = [claim for claim in held if claim.state is not State.DONE]
        if left:
            self._log.warning("gives back what still runs, jobs: %d", len(left))
        with contextlib.suppress(RedisError):  # their leases run out instead
            self._runner.ack(finished)
            self._runner.give_back(left)
        self._log.info("has stopped")


@contextlib.contextmanager
def signals(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGTERM and SIGINT call `stop`, where signals can be had: in the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def told(_signal: int, _frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, told) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
