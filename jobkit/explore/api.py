"""`explore`: from plain functions to a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jobkit.clock import Seconds, new_rng, to_ms
from jobkit.connect.client import Client
from jobkit.explore.actor import Line, LocalActor, WorkerFunction
from jobkit.explore.calls import Actor, Elsewhere
from jobkit.explore.disguise import disguise
from jobkit.explore.ground import Ground
from jobkit.explore.report import Report
from jobkit.explore.schedule import read, written
from jobkit.explore.search import Found, Search
from jobkit.explore.settings import NAMES, check, signed_ms
from jobkit.explore.telling import told
from jobkit.explore.trace import Coverage, Failure, Story
from jobkit.explore.turn import Program
from jobkit.explore.watchdog import Watchdog
from jobkit.explore.world import Judge, Promise
from jobkit.progress import bar

Promises = Promise | Iterable[Promise] | None


def explore(
    *workers: WorkerFunction | Elsewhere,
    given: Callable[[Client], object] | None = None,
    finally_: Promises = None,
    always: Promises = None,
    never: Promises = None,
    after_crash: WorkerFunction | Elsewhere | None = None,
    crashes: int = 0,
    lost_replies: int = 0,
    clock_jump: Seconds = 0,
    offsets: Sequence[Seconds] = (),
    may_raise: tuple[type[BaseException], ...] = (),
    bound: int | None = None,
    schedules: int = 5_000,
    seed: int | None = None,
    schedule: str | None = None,
    whole_pipelines: bool = False,
    reduce: bool = True,
    redis: Client | None = None,
    patience: float = 2.0,
) -> Report:
    """Run workers one Redis command at a time, in every order, and look for one that breaks a promise.

    A worker is a function `f(r)` or `f(r, w)`: `r` is a redis-py client, `w.effect(text)` says what
    is done outside of Redis. Or it is one of `Apart`, in a process of its own. Workers are called
    A, B, C, ...

    - `given(redis)` sets the server up; it is empty before.
    - `finally_`, `always`, `never`: promises, functions of a `World`, held against the end, or against
      every moment. An error that a worker raises is a failure too, unless it is one of `may_raise`.
    - `crashes`: how many workers may die, before any step. `after_crash` is a worker that starts then.
    - `lost_replies`: how many commands may run and their reply be lost with the connection.
    - `clock_jump`: once, at any moment, time may jump so many seconds.
    - `offsets`: how many seconds each worker's own `time.time()` is ahead of the server's.
    - `bound`: how many switches, crashes, losses and jumps may be forced on one schedule; None: any
      number, so every schedule there is. Those with the least forced come first, so the failure that
      is shown is the simplest.
    - `schedules`: the most that are run; if there are more, the report says how far they went. With
      `seed`, so many are drawn at random instead.
    - `schedule`: run this one, as a report gave it.
    - `whole_pipelines`: take a plain pipeline for one step. A server runs a short one in one go, as a
      rule; it does not promise to.
    - `reduce=False`: count also the schedules that differ only in steps that cannot see each other.
    - `redis`: a client of a real server that jobkit started, which is emptied. Default: a fake, on
      virtual time.
    - `patience`: seconds that a worker may run without a command.

    Raises ConfigError for settings that make no sense, ExploreError for code that cannot be explored:
    threads, asyncio, endless loops, steps that differ from run to run.
    """
    finally_, always, never = _all(finally_), _all(always), _all(never)
    asked = {name: value for name, value in locals().items() if name != "workers"}
    watchdog = Watchdog(patience)
    program = _program(workers, asked, watchdog)
    judge = Judge(finally_=finally_, always=always, never=never, may_raise=may_raise)
    ground = Ground(redis)
    search = Search(program, ground, judge, watchdog, limit=schedules, reduce=reduce)

    def again(text: str, server: Client | None = None) -> Report:
        return explore(*workers, **{**asked, "schedule": text, "redis": server, "seed": None})

    try:
        with disguise(), search.watchdog.watch():
            if schedule is not None:
                search.one(read(schedule))
            else:
                for _ in bar(
                    search.simplest_first(bound) if seed is None else search.randomly(new_rng(seed)), "schedules"
                ):
                    pass
            failure = _failure(search, program, search.best) if search.best else None
            story = _story(search, program) if failure is None and schedule is not None else None
    finally:
        ground.close()
    coverage = Coverage(
        workers=len(workers),
        schedules=search.schedules,
        bound=search.completed,
        complete=search.complete,
        crashes=crashes,
        lost_replies=lost_replies,
        jumps=program.jumps,
        random=seed is not None,
        promises=len(finally_) + len(always) + len(never),
        longest=search.longest,
    )
    return Report(failure, coverage, search.broken, again, story)


def _program(workers: tuple[WorkerFunction | Elsewhere, ...], asked: dict[str, Any], watchdog: Watchdog) -> Program:
    """Say who runs and what may go wrong."""
    check(workers, asked)
    offsets = [signed_ms(offset, "offsets") for offset in asked["offsets"]]
    offsets += [0] * (len(workers) - len(offsets))
    jump, recovery, whole = to_ms(asked["clock_jump"], "clock_jump"), asked["after_crash"], asked["whole_pipelines"]
    makers = [_maker(work, offset, whole, watchdog) for work, offset in zip(workers, offsets, strict=True)]
    return Program(
        workers=list(zip(NAMES, makers, strict=False)),
        given=asked["given"],
        recovery=_maker(recovery, 0, whole, watchdog) if recovery else None,
        crashes=asked["crashes"],
        lost_replies=asked["lost_replies"],
        jumps=1 if jump else 0,
        jump_ms=jump,
    )


def _maker(
    work: WorkerFunction | Elsewhere,
    offset: int,
    whole: bool,  # noqa: FBT001 - one private caller
    watchdog: Watchdog,
) -> Callable[[str], Actor]:
    if isinstance(work, Elsewhere):
        return lambda name: work.actor(name, offset, whole, watchdog)
    lines: dict[str, Line] = {}

    def make(name: str) -> Actor:
        if name not in lines:
            lines[name] = Line(whole=whole)
        return LocalActor(name, work, lines[name], offset)

    return make


def _all(promises: Promises) -> list[Promise]:
    return [] if promises is None else list(promises) if isinstance(promises, Iterable) else [promises]


def _failure(search: Search, program: Program, found: Found) -> Failure:
    steps = told(program, search.ground, search.watchdog, found.schedule)
    return Failure(
        found.broken.promise, found.broken.what, schedule=written(found.schedule), steps=steps, forced=found.forced
    )


def _story(search: Search, program: Program) -> Story:
    forced, schedule = search.last
    steps = told(program, search.ground, search.watchdog, schedule)
    return Story(schedule=written(schedule), steps=steps, forced=forced)
