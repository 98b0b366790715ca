"""A worker: claims jobs, runs their handlers, settles what came of it.

`step()` does one round and returns; `drain()` goes on until nothing is left, jumping from due time
to due time; `run()` is for a process of its own, until SIGTERM.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple, overload

from jobkit.backoff import Backoff, Exponential
from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.errors import (
    ConfigError,
    DelayError,
    JobError,
    LeaseLost,
    Permanent,
    RetryAfter,
    RunTooLong,
    StaleClaim,
    UnknownTask,
)
from jobkit.heartbeat import Heartbeat
from jobkit.job import Claim, State
from jobkit.loop import Loop
from jobkit.outcome import Outcome, Outcomes
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler

log = logging.getLogger("jobkit.worker")

Handler = Callable[..., object]

_OWN: Any = object()
"""The default scheduler: one of the worker's own."""


class _Task(NamedTuple):
    handler: Handler
    raw: bool


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
        self._rng = rng or new_rng()
        self.queue = queue
        self.name = name or f"worker-{self._rng.getrandbits(32):08x}"
        self.backoff = backoff or Exponential()
        self.scheduler = Scheduler(queue) if scheduler is _OWN else scheduler
        self.batch = batch
        self.grace = to_ms(grace, "grace") / 1000
        self.hung = False
        """Whether a handler did not end when its time was over: the process should be replaced."""
        self._tasks: dict[str, _Task] = {}
        max_run_s = None if max_run is None else to_ms(max_run, "max_run", least=1) / 1000
        self.heartbeat = Heartbeat(queue, max_run_s, self._overdue)
        self._loop: Loop | None = None

    def __repr__(self) -> str:
        return f"Worker({self.name!r} on {self.queue!r}, tasks: {', '.join(self._tasks) or 'none'})"

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
            self._tasks[name or handler.__name__] = _Task(handler, raw)
            return handler

        return register if handler is None else register(handler)

    # -- one round ---------------------------------------------------------------

    def step(self) -> Outcomes:
        """Tick the scheduler if there is one, claim once, run what was claimed; returns the outcomes."""
        wait = self.scheduler.tick().wait if self.scheduler else None
        claims = self.queue.claim(self.name, self.batch)
        outcomes, done = self.work(claims)
        answers = self._settle_done(done)
        return Outcomes(sorted(outcomes + answers, key=lambda o: [c.id for c in claims].index(o.id)), wait)

    def drain(self, most: int = 100_000) -> Outcomes:
        """Step until nothing is left, moving the clock to each next due time; `most` runs at most.

        A job that some other worker holds is waited for, until its lease is over. Raises
        ConfigError where time cannot be moved.
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
            if counts.ready or self.scheduler is None:
                if not counts.ready:
                    break
            elif counts.wait is not None:
                clock.advance(counts.wait)
            elif counts.running:
                clock.advance(self.queue.lease_ms / 1000)
            else:
                break
        return all_runs

    def run(self, threads: int = 1) -> None:
        """Work until SIGTERM or SIGINT or `stop()`, with so many handler threads.

        Then: claim no more, wait up to `grace` for what runs, give back the rest uncharged.
        """
        self._loop = Loop(self, threads)
        self._loop.run()

    def stop(self) -> None:
        """End `run`, in order; from any thread or signal handler."""
        if self._loop is not None:
            self._loop.stop()

    # -- what the loops share ------------------------------------------------------

    def work(self, claims: list[Claim], stopping: Callable[[], bool] = lambda: False) -> tuple[list[Outcome], list[Claim]]:
        """Run claimed jobs one after the other; settle what failed, and return it with what is done, to be acked.

        Once `stopping`, the rest is given back uncharged.
        """
        outcomes: list[Outcome] = []
        done: list[Claim] = []
        self.heartbeat.hold(claims)
        for position, claim in enumerate(claims):
            try:
                if stopping():
                    self._give_back(claims[position:])
                    break
                error = self._call(claim)
            except KeyboardInterrupt:  # a notebook's stop button: nobody is to wait for a lease
                self._give_back(claims[position:])
                self._settle_done(done)
                raise
            if error is None:
                done.append(claim)
            else:
                outcomes.append(self._settle_failed(claim, error))
        return outcomes, done

    def _call(self, claim: Claim) -> BaseException | None:
        """Run one handler; return what it raised."""
        task = self._tasks.get(claim.task)
        if task is None:
            return UnknownTask(f"{self.name} has no task {claim.task!r}")
        try:
            if claim.stop is not None:  # news came while the job waited in its batch
                claim.check()
            args = {} if task.raw else claim.args
            self.heartbeat.begin(claim)
            try:
                task.handler(claim, **args)
            finally:
                self.heartbeat.end(claim)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the job's error, whatever it is
            return error
        return None

    def _settle_done(self, done: list[Claim]) -> list[Outcome]:
        answers = self.queue.each("ack", done)
        self.heartbeat.drop(done)
        return self.report_done(done, answers)

    def report_done(self, done: list[Claim], answers: list[str]) -> list[Outcome]:
        """Log what was acked and return the outcomes: done, or stale."""
        outcomes = []
        for claim, answer in zip(done, answers, strict=True):
            outcome = Outcome.of(claim, "done" if answer == "done" else "stale")
            level = logging.INFO if outcome.became == "done" else logging.WARNING
            log.log(level, "%s (%s)", outcome, claim.id)
            outcomes.append(outcome)
        return outcomes

    def _settle_failed(self, claim: Claim, error: BaseException) -> Outcome:
        if isinstance(error, RunTooLong) and claim.stop is RunTooLong:
            return Outcome.of(claim, "overdue", error)  # the heartbeat settled it when its time was over
        outcome = self._fail(claim, error)
        self.heartbeat.drop([claim])
        return outcome

    def _fail(self, claim: Claim, error: BaseException) -> Outcome:
        """Tell the queue, and the log, that a run failed."""
        delay_ms, became = 0, "stale"
        try:
            if isinstance(error, LeaseLost):
                raise StaleClaim(str(error))
            if isinstance(error, UnknownTask):
                state = self.queue.refuse(claim, error)
            elif isinstance(error, (Permanent, JobError)):
                state = self.queue.fail(claim, error, permanent=True)
            else:
                delay_ms = self._delay(claim, error)
                state = self.queue.fail(claim, error, delay=delay_ms / 1000)
            became = {State.SCHEDULED: "retry", State.DEAD: "dead", State.CANCELLED: "cancelled"}[state]
        except StaleClaim as stale:
            log.warning("%s", stale)
        outcome = Outcome.of(claim, became, error, delay_ms)
        log.log(logging.ERROR if became == "dead" else logging.WARNING, "%s (%s)", outcome, claim.id)
        return outcome

    def _delay(self, claim: Claim, error: BaseException) -> int:
        """Ask the handler's own word first, then the policy. A broken policy must not lose the job."""
        if isinstance(error, RetryAfter):
            try:
                return to_ms(error.seconds)  # type: ignore[arg-type]  # checked there
            except DelayError as refused:
                log.error("%s of %s: %s; the backoff decides", type(error).__name__, claim.task, refused)
        try:
            return to_ms(self.backoff.delay(claim.attempt, self._rng) / 1000, "a backoff's delay")
        except Exception:  # whatever it was: a job that fails must be settled
            log.exception("the backoff failed; %s waits for one lease instead", claim.id)
            return self.queue.lease_ms

    def _overdue(self, claim: Claim) -> None:
        """Settle a run whose time is over, while its handler may still hang (called by the heartbeat)."""
        try:
            self._fail(claim, RunTooLong(f"it ran longer than allowed, attempt {claim.attempt}"))
        except Exception:  # Redis cannot be told: the lease runs out instead
            log.exception("could not settle %s, whose time is over", claim.id)
        self.heartbeat.drop([claim])

    def _give_back(self, claims: list[Claim]) -> list[Outcome]:
        answers = self.queue.each("release", claims)
        self.heartbeat.drop(claims)
        return [Outcome.of(claim, "released" if a == "ready" else a) for claim, a in zip(claims, answers, strict=True)]
