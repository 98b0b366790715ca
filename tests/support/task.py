"""The exercise at the end of a notebook, put to answers that nobody has typed into it."""

import copy
import textwrap
import time

from jobkit.cli import notebooks, store
from jobkit.explore import Report, explore


class Task:
    """The exercise of a page: `Task("03_whose_clock", "call_in(redis, room, seconds)")`.

    `names`: what the check finds on its page, beside what all of them find. `given`: how the cells
    begin that it needs and that stand before it.
    """

    def __init__(self, page, signature, *, names=(), given=()):
        self.cells = store.load(notebooks.FOLDER / f"{page}.py").cells
        self.page, self.signature, self.names, self.given = page, signature, dict(names), given

    def verdict(self, redis, body):
        """Run the page's check of a function with this body; return what it says."""
        found = {"explore": explore, "redis": redis, "clock": redis.clock, "time": time} | copy.deepcopy(self.names)
        for cell in self.cells:
            if cell.cell_type == "code" and cell.source.startswith(tuple(self.given)):
                exec(cell.source, found)
        name = self.signature.partition("(")[0]
        exec(f"def {self.signature}:\n{textwrap.indent(body, '    ')}\n", found)
        for cell in filter(_checks, self.cells):
            exec(cell.source.replace(f"\ncheck({name})", f"\nsaid = check({name})"), found)
        said = found["said"]
        return f"{said.failure.promise}: {said.verdict}" if isinstance(said, Report) else said

    def solution(self):
        """Return the body of the solution in the fold."""
        prose = next(cell.source for cell in self.cells if "<summary>A solution" in cell.source)
        code = prose.split("```python\n")[1].split("```")[0]
        return textwrap.dedent(code.partition("\n")[2])

    def stored(self, as_stored):
        """Return what the check says of the stub, as it is stored."""
        return str([cell for cell in as_stored(self.page).cells if _checks(cell)][-1].outputs)


def _checks(cell):
    return "check" in cell.metadata.get("tags", [])


TASKS = {
    "call_in": Task(
        "03_whose_clock",
        "call_in(redis, room, seconds)",
        names={"LINES": "lines", "COUNT": "count"},
    ),
    "call_off": Task(
        "11_cancel",
        "call_off(redis, room)",
        names={"TRAY": "tray", "LIST": "list", "CARDS": "card:"},
    ),
    "chalk": Task(
        "06_long_jobs_and_zombies",
        "chalk(redis, wine, bottles, token)",
        given=["BOARDS = "],
        names={"SEEN": {}},
    ),
    "done": Task(
        "12_hot_bucket",
        "done(redis, guest, wish)",
        names={"LINE": "line:", "TRAY": "tray"},
    ),
    "oldest": Task(
        "14_running_it",
        "oldest(redis)",
        names={"LIST": "list", "TRAY": "tray", "CARDS": "card:"},
    ),
    "points": Task(
        "07_exactly_once",
        "add_points(redis, order, guest, points)",
        given=["POINTS, GIVEN = "],
    ),
    "round": Task(
        "05_worker_dies",
        "sweep(redis, me)",
        given=["LEASE, BURIED = "],
        names={"LINE": "line"},
    ),
    "send_back": Task(
        "10_poison_and_dead_letters",
        "send_back(redis, rooms, over)",
        names={"DEAD": "dead", "DELAYED": "delayed", "CARD": "job:"},
    ),
    "strike": Task(
        "13_recurring",
        "strike(redis, hour, number)",
        names={"STRUCK": "struck", "LEADERS": "leaders", "BELL": "bell"},
    ),
    "tick": Task("04_apart", "tick(redis, limit)", names={"DELAYED": "delayed", "CARD": "card:", "TRAY": "tray:"}),
}
