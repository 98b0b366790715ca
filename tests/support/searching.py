"""A search by its parts, which `explore` keeps to itself: one bound alone, plain or reduced."""

import collections
import contextlib

from jobkit.clock import to_ms
from jobkit.explore.actor import Line, LocalActor
from jobkit.explore.disguise import disguise
from jobkit.explore.ground import Ground
from jobkit.explore.search import Search
from jobkit.explore.turn import Program
from jobkit.explore.watchdog import Watchdog
from jobkit.explore.world import Judge


def program(workers, *, given=None, after_crash=None, crashes=0, lost_replies=0, clock_jump=0):
    return Program(
        workers=[(name, _maker(work)) for name, work in zip("ABC", workers, strict=False)],
        given=given,
        recovery=after_crash and _maker(after_crash),
        crashes=crashes,
        lost_replies=lost_replies,
        jumps=1 if clock_jump else 0,
        jump_ms=to_ms(clock_jump),
    )


def _maker(work):
    lines = collections.defaultdict(Line)
    return lambda name: LocalActor(name, work, lines[name])


@contextlib.contextmanager
def searching(workers, *, redis=None, limit=20_000, reduce=True, finally_=(), never=(), may_raise=(), **settings):
    """Yield a Search, ready to run one bound after another."""
    ground, judge = Ground(redis), Judge(finally_=finally_, never=never, may_raise=may_raise)
    search = Search(program(workers, **settings), ground, judge, Watchdog(10), limit=limit, reduce=reduce)
    try:
        with disguise(), search.watchdog.watch():
            yield search
    finally:
        ground.close()


def run(search, bound):
    """Run all schedules up to a bound, whether they fail or not, and return the search."""
    for _ in search.simplest_first(bound, stop=False):
        pass
    return search
