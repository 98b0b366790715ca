"""A worker: claims jobs, runs their handlers, settles what came of it.

`step()` does one round and returns; `drain()` goes on until nothing is left, jumping from due time
to due time; `run()` is for a process of its own, until SIGTERM.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, overload

from jobkit.backoff import Backoff, Exponential
from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.errors import ConfigError
from jobkit.job import check_text
from jobkit.loop import Loop
from jobkit.outcome import Outcomes
from jobkit.queue import Queue
from jobkit.runner import Handler, Runner, Task
from jobkit.scheduler import Scheduler

_OWN: Any = object()
"""The default scheduler: one of the worker's own."""


class Worker:
    """Runs the jobs of a queue.

    `backoff` says when a failed job is tried again. `scheduler=None` leaves promoting and
    recovering to somebody else. `batch` jobs are claimed at once and acked together: quicker, but
    a crash then repeats up to `batch` finished runs. `max_run` (seconds) ends a handler that
    hangs. `grace` (seconds) is how long `run` waits for handlers when it is told to stop.
    """

    def __init__(
        self,
        queue: Queue,
        *,
        backoff: Backoff | None = None,
        scheduler: Scheduler | None = _OWN,
        name: str | None = None,
        batch: int = 1,
        max_run: Seconds | None = None,
        grace: Seconds = 10,
        rng: Random | None = None,
    ) -> None:
        if not isinstance(batch, int) or isinstance(batch, bool) or not 1 <= batch <= 1000:
            raise ConfigError(f"batch is a whole number from 1 to 1000, got {batch!r}")
        rng = rng or new_rng()
        self.queue = queue
        self.name = name or f"worker-{rng.getrandbits(32):08x}"
        self.scheduler = Scheduler(queue) if scheduler is _OWN else scheduler
        self.batch = batch
        self.grace = to_ms(grace, "grace") / 1000
        max_run_s = None if max_run is None else to_ms(max_run, "max_run", least=1) / 1000
        self.runner = Runner(
            queue, self.name, backoff=backoff or Exponential(), rng=rng, max_run=max_run_s, grace=self.grace
        )
        self._loop: Loop | None = None

    def __repr__(self) -> str:
        return f"Worker({self.name!r} on {self.queue!r}, tasks: {', '.join(self.runner.tasks) or 'none'})"

    def rename(self, name: str) -> None:
        """Work under another name: of many processes that load the same worker, each needs its own."""
        self.name = check_text(name, "a worker's name")
        self.runner.rename(name)

    @property
    def hung(self) -> bool:
        """Whether a handler did not end when its time was over: the process should be replaced."""
        return self.runner.hung

    # -- what it can do --------------------------------------------------------

    @overload
    def task(self, handler: Handler) -> Handler: ...
    @overload
    def task(self, *, name: str | None = None, raw: bool = False) -> Callable[[Handler], Handler]: ...
    def task(
        self, handler: Handler | None = None, *, name: str | None = None, raw: bool = False
    ) -> Handler | Callable[[Handler], Handler]:
        """Register a handler: called as `handler(job, **args)`, or `handler(job)` if it is `raw`.

        Use it bare, or with a `name` other than the function's. The last registration holds.
        """

        def register(handler: Handler) -> Handler:
            if not callable(handler):
                raise ConfigError(f"a handler is a function of the job and its arguments, got {handler!r}")
            self.runner.tasks[name or handler.__name__] = Task(handler, raw)
            return handler

        return register if handler is None else register(handler)

    # -- one round ---------------------------------------------------------------

    def step(self) -> Outcomes:
        """Tick the scheduler if there is one, claim once, run what was claimed; returns the outcomes."""
        wait = self.scheduler.tick().wait if self.scheduler else None
        claims = self.queue.claim(self.name, self.batch)
        outcomes, done = self.runner.run(claims)
        order = {claim.id: position for position, claim in enumerate(claims)}
        return Outcomes(sorted(outcomes + self.runner.ack(done), key=lambda outcome: order[outcome.id]), wait)

    def drain(self, most: int = 100_000) -> Outcomes:
        """Step until nothing is left, moving the clock to each next due time; `most` runs at most.

        A job that some other worker holds is waited for, until its lease is over. One that no
        structure of the queue holds, since a stream was deleted or evicted, is not found: the
        outcomes say how many are `lost`, and `queue.repair()` puts them back. Raises ConfigError
        where time cannot be moved.
        """
        clock = self.queue.clock
        if not clock.can_advance:
            raise ConfigError(
                "drain() moves time, which this server's clock cannot: call step(), or use a server "
                "of the kit's own, jobkit.connect() without a URL"
            )
        all_runs = Outcomes()
        while len(all_runs) < most:
            runs = self.step()
            all_runs += runs
            if runs:
                continue
            counts = self.queue.counts()
            if self.scheduler is None or (counts.wait is None and not counts.running):
                all_runs.lost = counts.lost
                break
            clock.advance(self.queue.lease_ms / 1000 if counts.wait is None else counts.wait)
        return all_runs

    def run(self, threads: int = 1) -> None:
        """Work until SIGTERM or SIGINT or `stop()`, with so many handler threads.

        Then: claim no more, wait up to `grace` for what runs, give back the rest uncharged.
        """
        self._loop = Loop(self, threads)
        self.runner.patience = self.queue.lease_ms / 1000
        try:
            self._loop.run()
        finally:
            self._loop, self.runner.patience = None, 0.0

    def stop(self) -> None:
        """End `run`, in order; from any thread or signal handler."""
        loop = self._loop
        if loop is not None:
            loop.stop()
