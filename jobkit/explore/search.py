"""Every schedule, the simplest first: those on which nothing is forced, then one thing, two, ...

What is forced: a switch away from a worker that could go on, a crash, a lost reply, a jump of the
clock. Most faults need one or two of them, and a failure that needs few is easy to understand. What
forces more is put off until all that forces less is done, so each schedule is run once. It is run
from the start each time: a server can't be wound back.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from jobkit.errors import ExploreError
from jobkit.explore.events import spelled
from jobkit.explore.forks import Branch, Fork, Option, diverged, same, way_to
from jobkit.explore.ground import Ground
from jobkit.explore.order import Numbers
from jobkit.explore.run import Run
from jobkit.explore.schedule import Choice
from jobkit.explore.seen import Seen
from jobkit.explore.turn import Program
from jobkit.explore.watchdog import Watchdog
from jobkit.explore.world import Broken, Judge

_UNLIKELY = 0.1
"""How often a random walk crashes a worker, loses a reply or lets time jump, where it may."""


class Found(NamedTuple):
    """A schedule that breaks a promise; the least of them is the one to show."""

    forced: int
    steps: int
    accidents: int
    """Crashes, lost replies and jumps: of two that are equally short, one with a mere switch is easier to follow."""
    schedule: tuple[Choice, ...]
    broken: Broken


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
    last: tuple[int, tuple[Choice, ...]] = (0, ())
    """Of the schedule that was run last: how much it forces, and its choices."""
    completed: int | None = 0
    """All schedules with so much forced were run; None: every schedule there is."""
    complete: bool = True
    """False where the limit of schedules, or chance, left something out."""
    _path: list[Fork] = field(default_factory=list)
    _later: dict[int, list[Branch]] = field(default_factory=dict)
    """What is put off, by how much is forced there."""
    _cut: bool = False
    """Whether something is beyond the bound."""
    _numbers: Numbers = field(default_factory=dict)
    _asked: dict[tuple[str, int], Hashable] = field(default_factory=dict)
    _seen: Seen = field(default_factory=Seen)

    def simplest_first(self, bound: int | None, *, stop: bool = True) -> Iterator[None]:
        """Run schedules with up to `bound` forced events (None: all there are), one per turn.

        With `stop`, until a promise is broken: then all schedules with as little forced are run, no more.
        """
        self._later, self._seen, self._cut, self.completed = {0: [None]}, Seen(), False, -1
        for forced in itertools.count():
            for branch in self._later.pop(forced, []):
                yield from self._below(branch, forced, bound)
            if not self.complete:
                return
            self.completed = forced if self._later or self._cut else None
            if self.completed is None or forced == bound or (stop and self.best is not None):
                return

    def _below(self, branch: Branch, most: int, bound: int | None) -> Iterator[None]:
        """Run all schedules from a branch on with so much forced at most; put off the others, up to the bound."""
        self._path = way_to(branch)
        start = len(self._path)
        if self._path and not self._path[-1].skip(self._seen):
            return
        while self.complete:
            if self.schedules >= self.limit:
                self.complete = False
                return
            self._run(lambda run: self._next(run, most, bound))
            yield
            while len(self._path) > start:
                self._path[-1].at += 1
                if self._path[-1].skip(self._seen):
                    break
                self._path.pop()
            else:
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
                raise diverged(run.taken + 1, "there", "not")
            if self._reduces:
                self._seen.reach(run.moment, run.ready)
            broken, self.last = broken or self.judge.end(run.world), (forced, tuple(taken))
            self.longest = max(self.longest, len(run.events))
            if broken is not None:
                self.broken += 1
                accidents = sum(bool(choice.what) for choice in taken)
                found = Found(forced, len(run.events), accidents, self.last[1], broken)
                self.best = min(self.best or found, found, key=lambda one: one[:3])
            return run.taken
        finally:
            self.schedules += 1
            run.close()

    @property
    def _reduces(self) -> bool:
        return self.reduce and not self.judge.each_step

    def _next(self, run: Run, most: int, bound: int | None) -> tuple[Choice, int] | None:
        """Choose as the path says, and beyond its end the first option; None: seen before."""
        if run.taken < len(self._path):
            fork = self._path[run.taken]
            same(run, fork)
            return fork.options[fork.at][:2]
        if self._reduces and not self._seen.reach(run.moment, run.ready):
            return None
        last = self._path[-1] if self._path else None
        before = (last, last.at) if last else None
        options = self._options(run, last.options[last.at].forced if last else 0)
        later = Fork([option for option in options if option.forced > most], before, run.ready)
        for at, option in enumerate(later.options):
            if bound is None or option.forced <= bound:
                self._later.setdefault(option.forced, []).append((later, at))
            else:
                self._cut = True
        fork = Fork([option for option in options if option.forced <= most], before, run.ready)
        if not fork.skip(self._seen):
            return None
        self._path.append(fork)
        return fork.options[fork.at][:2]

    def _options(self, run: Run, forced: int) -> list[Option]:
        options = []
        for choice, cost in run.options():
            asked, ahead = run.asked(choice), run.ahead(choice) if self._reduces else None
            self._hold(run, choice, asked)
            options.append(Option(choice, cost, forced + cost, asked, ahead))
        return options

    def _hold(self, run: Run, choice: Choice, asked: Hashable) -> None:
        """Hold what a worker asks for against what it asked for after the same steps in another order."""
        what = asked[1] if isinstance(asked, tuple) else None
        before = self._asked.setdefault((choice.worker, run.order.last(choice.worker)), what)
        if before != what:
            raise diverged(run.taken + 1, f"`{choice}: {spelled(before)}`", f"`{spelled(what)}`")


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
