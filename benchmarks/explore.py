"""The explorer: schedules per second, beside a loop that runs the same workers one after the other on the same fake."""

import statistics
import sys
from pathlib import Path
from time import process_time

from benchmarks.line import Line, seconds
from jobkit.clock import VirtualClock
from jobkit.connect.fake import FakeRedis
from jobkit.explore import explore, jobs
from jobkit.explore.actor import arity

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the table of cases is a test
from support.classics import CASES, checked, delete_own, racy, released, scripted, watched
from support.searching import run, searching

GOAL = 1000
PROGRAMS = {
    "ZRANGE, ZREM": ([racy] * 2, {"given": jobs(2)}),
    "ZREM checked": ([checked] * 2, {"given": jobs(2)}),
    "WATCH, MULTI/EXEC": ([watched] * 2, {"given": jobs(2)}),
    "Lua: claim": ([scripted] * 3, {"given": jobs(3)}),
    "Lua: lock and compare, DEL": ([released(delete_own)] * 2, {"given": jobs(1)}),
}


class Somebody:
    """Stands for the explorer's worker where nothing is explored."""

    name = "A"

    def effect(self, _text):
        pass


def schedules(lab, n, runs, span):
    """How many schedules a second, all of them: nothing is left out, none is cut short."""
    for name, (workers, asked) in PROGRAMS.items():
        many = max(1, n // 50)
        pairs = [(explored(workers, asked, many), by_hand(workers, asked, many)) for _ in range(runs)]
        yield Line.of(f"{name}, schedules/s", pairs, f">= {GOAL:,}" if "Lua" not in name else "")


def explored(workers, asked, least):
    with searching(workers, reduce=False, limit=10 * least, **asked) as search:
        start = process_time()
        while search.schedules < least:
            run(search, None)
        return search.schedules / (process_time() - start)


def by_hand(workers, asked, times):
    with FakeRedis(VirtualClock()).client() as redis:
        start = process_time()
        for _ in range(times):
            redis.flushall()
            asked["given"](redis)
            for work in workers:
                work(*(redis, Somebody())[: arity(work)])
        return times / (process_time() - start)


def found(lab, n, runs, span):
    """How long until each failing case of the table is found and told, its shortest schedule that is."""
    for name, case in CASES.items():
        if case.steps is not None:
            times = [1000 * seconds(lambda: explore(*case.workers, **case.settings, bound=None)) for _ in range(runs)]  # noqa: B023
            yield Line(f"found: {name}, ms", statistics.median(times), goal="<= 100")
