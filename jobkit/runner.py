"""Running claimed jobs, and telling the queue what came of each."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from random import Random
from typing import NamedTuple, TypeVar

from redis.exceptions import RedisError

from jobkit.backoff import Backoff
from jobkit.clock import to_ms
from jobkit.errors import DelayError, JobError, Permanent, RetryAfter, RunTooLong, StaleClaim, UnknownTask
from jobkit.heartbeat import Heartbeat
from jobkit.job import Claim, State
from jobkit.outcome import Outcome
from jobkit.queue import Queue

log = logging.getLogger("jobkit.worker")

Handler = Callable[..., object]
T = TypeVar("T")

PAUSE = 0.2
"""Seconds before the next try when Redis does not answer."""


class Task(NamedTuple):
    """A handler, and whether it reads the payload itself."""

    handler: Handler
    raw: bool


class Runner:
    """Runs the handlers of one worker; any number of its threads may do so at once.

    `max_run` and `grace` are seconds, see `Worker`.
    """

    def __init__(
        self, queue: Queue, name: str, *, backoff: Backoff, rng: Random, max_run: float | None, grace: float
    ) -> None:
        self.queue, self.name, self.backoff = queue, name, backoff
        self.log = logging.LoggerAdapter(log, {"worker": name})
        self._rng = rng
        self.tasks: dict[str, Task] = {}
        self.heartbeat = Heartbeat(queue, max_run, grace, self._overdue, self._hung)
        self.journal: Callable[[str, Claim], None] | None = None
        """Called with "start" and "end" around each run of a handler."""
        self._late: dict[int, Future[Outcome]] = {}
        self.hung = False
        self.patience = 0.0
        """Seconds for which a settling call is tried again when Redis does not answer."""

    def rename(self, name: str) -> None:
        """Claim and log under another name."""
        self.name, self.log = name, logging.LoggerAdapter(log, {"worker": name})

    def run(
        self, claims: list[Claim], stopping: Callable[[], bool] = lambda: False
    ) -> tuple[list[Outcome], list[Claim]]:
        """Run claimed jobs one after the other; settle what failed, and return it with what is done, to be acked.

        Once `stopping`, the rest is given back uncharged.
        """
        self.heartbeat.hold(claims)
        try:
            return self._run(claims, stopping)
        except BaseException:
            self.heartbeat.drop(claims)  # what is not settled by now waits for its lease
            raise

    def _run(self, claims: list[Claim], stopping: Callable[[], bool]) -> tuple[list[Outcome], list[Claim]]:
        outcomes: list[Outcome] = []
        done: list[Claim] = []
        for position, claim in enumerate(claims):
            if stopping():
                outcomes += self.give_back(claims[position:])
                break
            try:
                error = self._call(claim)
            except KeyboardInterrupt:  # a notebook's stop button: nobody is to wait for a lease
                self.give_back(claims[position:])
                self.ack(done)
                raise
            if error is None:
                claim.state = State.DONE  # as far as this worker can tell
                done.append(claim)
            else:
                outcomes.append(self._settle_failed(claim, error))
        return outcomes, done

    def _call(self, claim: Claim) -> BaseException | None:
        """Run one handler; return what it raised."""
        task = self.tasks.get(claim.task)
        if task is None:
            return UnknownTask(f"{self.name} has no task {claim.task!r}")
        try:
            if claim.stop is not None:  # news came while the job waited in its batch
                claim.check()
            args = {} if task.raw else claim.args
            self.heartbeat.begin(claim)
            try:
                if self.journal is not None:
                    self.journal("start", claim)
                task.handler(claim, **args)
            finally:
                self.heartbeat.end(claim)
                if self.journal is not None:
                    self.journal("end", claim)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is the job's error, whatever it is
            self.heartbeat.end(claim)  # again: the exception for a handler that just ended may have met it at the door
            return error
        return None

    def _tell(self, claims: list[Claim], say: Callable[[], T]) -> T:
        """Say something of these claims that may be said twice, until Redis answers.

        Once its patience is over, the claims get no heartbeat any more: their leases run out, and
        other workers have them.
        """
        clock = self.queue.clock
        end = clock.monotonic() + self.patience
        while True:
            try:
                return say()
            except RedisError as error:
                if clock.monotonic() >= end:
                    self.heartbeat.drop(claims)
                    raise
                self.log.warning("cannot reach Redis (%s); it tries again", error)
                clock.sleep(PAUSE)

    def ack(self, done: list[Claim]) -> list[Outcome]:
        """Ack what is done; returns the outcomes."""
        answers = self._tell(done, lambda: self.queue.each("ack", done))
        self.acked(done, answers)
        return [Outcome.of(claim, "done" if a == "done" else "stale") for claim, a in zip(done, answers, strict=True)]

    def acked(self, done: list[Claim], answers: list[str]) -> None:
        """Note, and log, what the acks were answered. A batch is one line: a line per job costs more than the job."""
        self.heartbeat.drop(done)
        for claim, answer in zip(done, answers, strict=True):
            self._late.pop(claim.token, None)
            if answer != "done":
                self.log.warning("%s (%s)", Outcome.of(claim, "stale"), claim.id)
        if len(done) > 1:
            self.log.info("%d jobs done", answers.count("done"))
        elif answers == ["done"]:
            self.log.info("%s: done, attempt %d (%s)", done[0].task, done[0].attempt, done[0].id)

    def _settle_failed(self, claim: Claim, error: BaseException) -> Outcome:
        if isinstance(error, RunTooLong) and claim.stop is RunTooLong:
            return self._late.pop(claim.token).result()  # the heartbeat settles it when its time is over
        outcome = self._fail(claim, error)
        self.heartbeat.drop([claim])
        return outcome

    def _fail(self, claim: Claim, error: BaseException) -> Outcome:
        """Tell the queue, and the log, that a run failed."""
        delay_ms, became = 0, "stale"
        try:
            if isinstance(error, UnknownTask):
                state = self._tell([claim], lambda: self.queue.refuse(claim, error))
            elif isinstance(error, (Permanent, JobError)):
                state = self._tell([claim], lambda: self.queue.fail(claim, error, permanent=True))
            else:
                delay_ms = self._delay(claim, error)
                state = self._tell([claim], lambda: self.queue.fail(claim, error, delay=delay_ms / 1000))
            became = {State.SCHEDULED: "retry", State.DEAD: "dead", State.CANCELLED: "cancelled"}[state]
        except StaleClaim as stale:
            self.log.warning("%s", stale)
        outcome = Outcome.of(claim, became, error, delay_ms if became == "retry" else 0)
        self.log.log(logging.ERROR if became == "dead" else logging.WARNING, "%s (%s)", outcome, claim.id)
        return outcome

    def _delay(self, claim: Claim, error: BaseException) -> int:
        """Ask the handler's own word first, then the policy. A broken policy must not lose the job."""
        if isinstance(error, RetryAfter):
            try:
                return to_ms(error.seconds)  # type: ignore[arg-type]  # checked there
            except DelayError as refused:
                self.log.warning("%s of %s: %s; the backoff decides", type(error).__name__, claim.task, refused)
        try:
            return to_ms(self.backoff.delay(claim.attempt, self._rng) / 1000, "a backoff's delay")
        except Exception:  # whatever it was: a job that fails must be settled
            self.log.exception("the backoff failed; %s waits for one lease instead", claim.id)
            return self.queue.lease_ms

    def _overdue(self, claim: Claim) -> None:
        """Settle a run whose time is over, while its handler may still hang (called by the heartbeat)."""
        error = RunTooLong("its maximum run time is over")
        settled = self._late[claim.token] = Future[Outcome]()
        claim.stop = RunTooLong
        try:
            settled.set_result(self._fail(claim, error))
        except Exception:  # Redis cannot be told: the lease runs out instead
            self.log.exception("could not settle %s, whose time is over", claim.id)
            settled.set_result(Outcome.of(claim, "stale", error))
        self.heartbeat.drop([claim])

    def _hung(self, claim: Claim) -> None:
        """Give up on a handler that does not end: its thread can't be killed, so the process must go."""
        self.log.critical("the handler of %s does not end; the process should be replaced", claim.id)
        self.hung = True

    def give_back(self, claims: list[Claim]) -> list[Outcome]:
        """Release claims, uncharged."""
        answers = self._tell(claims, lambda: self.queue.each("release", claims))
        self.heartbeat.drop(claims)
        return [Outcome.of(claim, "released" if a == "ready" else a) for claim, a in zip(claims, answers, strict=True)]
