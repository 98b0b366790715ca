"""Every schedule, the simplest first: depth first, with a bound on what is forced that is raised 0, 1, 2, ...

What is forced: a switch away from a worker that could go on, a crash, a lost reply, a jump of the
clock. Most faults need one or two of them, and a failure that needs few is easy to understand.
Schedules are run anew from the start each time: a server can't be wound back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from jobkit.errors import ExploreError
from jobkit.explore.events import spelled
from jobkit.explore.ground import Ground
from jobkit.explore.order import Numbers
from jobkit.explore.run import Program, Run
from jobkit.explore.schedule import Choice
from jobkit.explore.seen import Moment, Seen
from jobkit.explore.watchdog import Watchdog
from jobkit.explore.world import Broken, Judge

_NO_BOUND = 1 << 30
_ONE_BY_ONE = 2
"""Bounds up to this are tried one by one before all the rest at once: what fails, mostly fails there."""
_UNLIKELY = 0.1
"""How often a random walk crashes a worker, loses a reply or lets time jump, where it may."""


class Found(NamedTuple):
    """A schedule that breaks a promise; the least of them is the one to show."""

    forced: int
    steps: int
    schedule: tuple[Choice, ...]
    broken: Broken


@dataclass(slots=True)
class _Fork:
    """A moment of the schedule that is being run, and which of its options have been tried."""

    options: list[tuple[Choice, int]]
    forced: int
    """What was forced before it."""
    asked: list[Hashable]
    """What is asked for in each option: it must be the same each time."""
    ready: frozenset[str]
    """Who could go on: likewise."""
    ahead: list[Moment | None]
    """Where each option leads, as far as that can be told without taking it."""
    at: int = 0

    def skip(self, seen: Seen) -> bool:
        """Pass over options that lead where the search has been; return whether one is left."""
        while self.at < len(self.options):
            moment = self.ahead[self.at]
            if moment is None or not seen.knows(moment, self.forced + self.options[self.at][1]):
                return True
            self.at += 1
        return False


@dataclass
class Search:
    """Runs schedules of one program and holds them against its promises."""

    program: Program
    ground: Ground
    judge: Judge
    watchdog: Watchdog
    limit: int = 20_000
    """How many schedules are run at most."""
    reduce: bool = True
    """Leave out schedules that differ only in the order of steps without a conflict."""
    schedules: int = 0
    broken: int = 0
    longest: int = 0
    best: Found | None = None
    cut: bool = False
    """Whether the last bound left anything out."""
    completed: int | None = 0
    """The highest bound that was completed; None: every schedule there is."""
    complete: bool = True
    """False where the limit of schedules, or chance, left something out."""
    _path: list[_Fork] = field(default_factory=list)
    _numbers: Numbers = field(default_factory=dict)
    _asked: dict[tuple[str, int], Hashable] = field(default_factory=dict)
    _seen: Seen = field(default_factory=lambda: Seen(bounded=True))

    def simplest_first(self, bound: int | None) -> Iterator[None]:
        """Raise the bound until a promise breaks, all is seen, or `bound` is done (None: all there are)."""
        for at in itertools.count():
            yield from self.bounded(at if bound is not None or at <= _ONE_BY_ONE else None)
            if not self.complete:
                return
            self.completed = at if self.cut else None
            if self.best is not None and at > _ONE_BY_ONE and bound is None:
                yield from self._simpler(at, self.best.forced)
            if self.best is not None or not self.cut or at == bound:
                return

    def _simpler(self, least: int, most: int) -> Iterator[None]:
        """Look for a failure with less forced than the one that was found without a bound."""
        for at in range(least, most):
            yield from self.bounded(at)
            if not self.complete or (self.best is not None and self.best.forced <= at):
                return

    def bounded(self, bound: int | None) -> Iterator[None]:
        """Run all schedules with at most `bound` forced events, one per turn; None: all there are."""
        self.cut, self._path, self._seen = False, [], Seen(bounded=bound is not None)
        most = _NO_BOUND if bound is None else bound
        while True:
            self._run(lambda run: self._next(run, most))
            yield
            while self._path:
                self._path[-1].at += 1
                if self._path[-1].skip(self._seen):
                    break
                self._path.pop()
            else:
                return
            if self.schedules >= self.limit:
                self.complete = False
                return

    def randomly(self, rng: Random) -> Iterator[None]:
        """Run as many schedules as the limit says, drawn at random, one per turn."""
        self.complete = False
        for _ in range(self.limit):
            self._run(lambda run: _drawn(run, rng))
            yield

    def one(self, schedule: list[Choice]) -> None:
        """Run one schedule; where it ends, the rest follows without anything forced."""
        self.complete = False
        taken = self._run(lambda run: _told(run, schedule))
        if taken < len(schedule) and self.best is None:
            raise ExploreError(
                f"the schedule goes on after place {taken}, where all is over: it is one of another program"
            )

    def _run(self, choose: Callable[[Run], tuple[Choice, int] | None]) -> int:
        """Run a schedule; return how many choices it took."""
        run = Run(self.program, self.ground, self.watchdog, self._numbers)
        try:
            forced, taken, broken = 0, [], self.judge.step(run.world) if self.judge.each_step else None
            while not run.over and broken is None:
                option = choose(run)
                if option is None:
                    return run.taken  # what follows was seen before
                run.take(option[0])
                taken.append(option[0])
                forced += option[1]
                if self.judge.each_step:
                    broken = self.judge.step(run.world)
            if run.taken < len(self._path):
                raise _diverged(run.taken + 1, "there", "not")
            if self._reduces:
                self._seen.reach(run.moment, run.ready, forced)
            broken = broken or self.judge.end(run.world)
            self.longest = max(self.longest, len(run.events))
            if broken is not None:
                self.broken += 1
                found = Found(forced, len(run.events), tuple(taken), broken)
                self.best = min(self.best or found, found, key=lambda one: one[:2])
            return run.taken
        finally:
            self.schedules += 1
            run.close()

    @property
    def _reduces(self) -> bool:
        return self.reduce and not self.judge.each_step

    def _next(self, run: Run, most: int) -> tuple[Choice, int] | None:
        """Choose as the path says, and beyond its end the first option; None: seen before."""
        if run.taken < len(self._path):
            fork = self._path[run.taken]
            _same(run, fork)
            return fork.options[fork.at]
        last = self._path[-1] if self._path else None
        forced = last.forced + last.options[last.at][1] if last else 0
        if self._reduces and not self._seen.reach(run.moment, run.ready, forced):
            return None
        options = run.options()
        allowed = [option for option in options if forced + option[1] <= most]
        self.cut |= len(allowed) < len(options)
        asked = [run.asked(choice) for choice, _ in allowed]
        for (choice, _), what in zip(allowed, asked, strict=True):
            self._hold(run, choice, what)
        ahead = [run.ahead(choice) if self._reduces else None for choice, _ in allowed]
        fork = _Fork(allowed, forced, asked, run.ready, ahead)
        if not fork.skip(self._seen):
            return None
        self._path.append(fork)
        return fork.options[fork.at]

    def _hold(self, run: Run, choice: Choice, asked: Hashable) -> None:
        """Hold what a worker asks for against what it asked for after the same steps in another order."""
        what = asked[1] if isinstance(asked, tuple) else None
        before = self._asked.setdefault((choice.worker, run.order.last(choice.worker)), what)
        if before != what:
            raise _diverged(run.taken + 1, f"`{choice}: {spelled(before)}`", f"`{spelled(what)}`")


def _same(run: Run, fork: _Fork) -> None:
    """Hold what is asked for now against what was asked for here before."""
    choice, before = fork.options[fork.at][0], fork.asked[fork.at]
    now = run.asked(choice)
    if now != before:
        raise _diverged(run.taken + 1, f"`{choice}: {_pending(before)}`", f"`{_pending(now)}`")
    if run.ready != fork.ready:
        raise _diverged(run.taken + 1, _who(fork.ready), _who(run.ready))


def _who(ready: frozenset[str]) -> str:
    return f"one of {', '.join(sorted(ready))}"


def _pending(asked: Hashable) -> str:
    return spelled(asked[1]) if isinstance(asked, tuple) and asked[0] else "nothing"


def _diverged(step: int, before: str, now: str) -> ExploreError:
    return ExploreError(
        f"the same schedule did not do the same twice: step {step} was {before}, then {now}. "
        "Does a worker keep something in a global, or use datetime.now()?"
    )


def _drawn(run: Run, rng: Random) -> tuple[Choice, int]:
    options = run.options()
    steps = [option for option in options if not option[0].what]
    others = [option for option in options if option[0].what]
    return rng.choice(others if others and rng.random() < _UNLIKELY else steps)


def _told(run: Run, schedule: list[Choice]) -> tuple[Choice, int]:
    options = dict(run.options())
    if run.taken >= len(schedule):
        return next(iter(options.items()))
    choice = schedule[run.taken]
    if choice not in options:
        raise ExploreError(
            f"the schedule says {choice} at place {run.taken + 1}, where only "
            f"{', '.join(map(str, options))} can happen: it is one of another program"
        )
    return choice, options[choice]
