"""A worker: claims jobs, runs their handlers, settles what came of it.

`step()` does one round and returns; `drain()` goes on until nothing is left, jumping from due time
to due time; `run()` is for a process of its own, until SIGTERM.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Self, overload

from jobkit.backoff import Backoff, Exponential
from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.errors import ConfigError
from jobkit.job import Claim, check_text
from jobkit.loop import Loop, signals
from jobkit.outcome import Outcome, Outcomes
from jobkit.queue import Queue
from jobkit.runner import Handler, Runner, Task, log
from jobkit.scheduler import Scheduler, ShardedScheduler
from jobkit.shards import ShardedQueue
from jobkit.sidebyside import one_by_one, side_by_side

_OWN: Any = object()
"""The default scheduler: one of the worker's own."""


class Worker:
    """Runs the jobs of a queue, or of all shards of a sharded one (see `ShardedWorker`).

    `backoff` says when a failed job is tried again. `scheduler=None` leaves promoting and
    recovering to somebody else. `batch` jobs are claimed at once and acked together: quicker, but
    a crash then repeats up to `batch` finished runs. `max_run` (seconds) ends a handler that
    hangs. `grace` (seconds) is how long `run` waits for handlers when it is told to stop.
    """

    def __new__(cls, queue: Queue | ShardedQueue, **_: Any) -> Self:
        """Make a ShardedWorker for a sharded queue."""
        return super().__new__(ShardedWorker if isinstance(queue, ShardedQueue) else cls)  # type: ignore[return-value]

    def __init__(
        self,
        queue: Queue | ShardedQueue,
        *,
        backoff: Backoff | None = None,
        scheduler: Scheduler | None = _OWN,
        name: str | None = None,
        batch: int = 1,
        max_run: Seconds | None = None,
        grace: Seconds = 10,
        rng: Random | None = None,
    ) -> None:
        if not isinstance(queue, Queue):
            raise ConfigError(f"a worker runs the jobs of a Queue, or of a ShardedQueue, got {queue!r}")
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

    def watch(self, journal: Callable[[str, Claim], None]) -> None:
        """Call `journal` with "start" and "end" around each run of a handler."""
        self.runner.journal = journal

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
        self.begin(threads)
        self.go_on()

    def begin(self, threads: int) -> None:
        """Get ready to `go_on` with so many handler threads: from now on it can be stopped."""
        self._loop = Loop(self, threads)

    def go_on(self) -> None:
        """Work until stopped."""
        if self._loop is None:
            raise ConfigError("a worker begins before it goes on: call run()")
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


class ShardedWorker(Worker):
    """A worker of all shards: a worker for each of them, with the same tasks. `Worker(queue)` makes it.

    `run` gives every shard handler threads, a bell and heartbeats of its own: none starves while
    another is busy, and none waits for one that is slow, or away. So `threads` counts for each shard.
    """

    queue: ShardedQueue  # type: ignore[assignment]

    def __init__(
        self,
        queue: ShardedQueue,
        *,
        scheduler: Scheduler | None = _OWN,
        name: str | None = None,
        rng: Random | None = None,
        **settings: Any,
    ) -> None:
        rng = rng or new_rng()
        self.queue = queue
        self.name = name or f"worker-{rng.getrandbits(32):08x}"
        own = scheduler.parts if isinstance(scheduler, ShardedScheduler) else [scheduler] * len(queue.shards)
        self.parts = tuple(
            Worker(shard, scheduler=one, name=self.name, rng=rng, **settings)
            for shard, one in zip(queue.shards, own, strict=True)
        )
        first = self.parts[0]
        self.scheduler, self.runner = first.scheduler, first.runner
        self.batch, self.grace = first.batch, first.grace
        for part in self.parts:
            part.runner.tasks = self.runner.tasks

    def rename(self, name: str) -> None:
        """Work under another name, in all shards."""
        for part in self.parts:
            part.rename(name)
        self.name = name

    def watch(self, journal: Callable[[str, Claim], None]) -> None:
        """Call `journal` around each run of a handler, in all shards."""
        for part in self.parts:
            part.watch(journal)

    @property
    def hung(self) -> bool:
        """Whether a handler of any shard did not end when its time was over."""
        return any(part.hung for part in self.parts)

    def step(self) -> Outcomes:
        """Step once in each shard; one that cannot be reached is logged. Raises its error if none can."""
        steps = one_by_one(self.parts, lambda part: part.step(), log)
        runs: list[Outcome] = [run for step in steps for run in step]
        return Outcomes(runs, min((step.wait for step in steps if step.wait is not None), default=None))

    def run(self, threads: int = 1) -> None:
        """Work in all shards until SIGTERM or SIGINT or `stop()`, with so many handler threads in each."""
        for part in self.parts:
            part.begin(threads)
        with signals(self.stop):
            side_by_side([part.go_on for part in self.parts], self.stop)

    def stop(self) -> None:
        """End `run` in all shards."""
        for part in self.parts:
            part.stop()
