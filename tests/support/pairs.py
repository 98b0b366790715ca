"""Two of the kit's own operations meet: every order of their commands, with a crash, a lost reply, a jump of time."""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from random import Random

from support.parts import HELD, IN_LANES, LANES, LEADS, OPERATIONS, SETUPS, WRONG
from support.promises import PROMISES
from support.witness import LEASE, Witness

from jobkit.errors import JobkitError
from jobkit.explore import explore
from jobkit.job import Claim
from jobkit.queue import Queue
from jobkit.ready import Streams

PAIRS = list(combinations_with_replacement(OPERATIONS, 2))
BOUND = 2
STREAMS = Streams()


def meetings(first, second):
    """Return the set-ups in which two meet: both change something there, or one has something to do after the other.

    Where there is none, they can't meet; one set-up is tried all the same.
    """
    one, other = (OPERATIONS | WRONG)[first], (OPERATIONS | WRONG)[second]
    able = [setup for setup in SETUPS if setup in HELD or not (one.held or other.held)]
    both = [setup for setup in able if setup in one.bites and (_after(first, setup) & other.bites)]
    both += [setup for setup in able if setup in other.bites and (_after(second, setup) & one.bites)]
    return list(dict.fromkeys(both)) or [setup for setup in able if setup in one.bites | other.bites][:1]


def _after(operation, setup):
    return {setup, *LEADS.get(operation, {}).get(setup, "").split("; ")}


class _Queues:
    """One queue per client, from schedule to schedule; its chance begins anew in each."""

    def __init__(self, store):
        self._store, self._made = store, None

    def __call__(self, redis, seed):
        if self._made is None:
            self._chance = Random()
            self._made = Queue(redis, "q", ready=self._store, lease=LEASE, rng=self._chance)
        self._chance.seed(seed)
        return self._made


def _given(setup, store):
    queues = _Queues(store)
    return lambda redis: (SETUPS | LANES)[setup](queues(redis, "set-up"))


def _worker(name, operation, setup, store):
    """Return the function of a worker that does an operation once."""
    token = 2 if setup == f"taken over by {name}" else 1
    limit = 1 if "last run" in setup else 5
    claim = Claim("j", "ok", b"", 1, limit, 0, 0, token=token, worker=name)
    queues = _Queues(store)
    return lambda redis, me: operation.act(queues(redis, me.name), me.name, claim if operation.held else None)


def met(*where, store=STREAMS, **options):
    """Explore operations in a set-up, whose name is the last: a crash, a lost reply, and a lease that passes."""
    *names, setup = where
    witness = Witness(store, repairs=setup.endswith("in no structure"))
    return explore(
        *[
            _worker(who, (OPERATIONS | WRONG | IN_LANES)[name], setup, store)
            for who, name in zip("ABC", names, strict=False)
        ],
        given=_given(setup, store),
        always=[witness.watch, *PROMISES, witness.passed],
        finally_=[witness.recover, *PROMISES, witness.ended],
        may_raise=(JobkitError,),
        **({"crashes": 1, "lost_replies": 1, "clock_jump": LEASE + 1, "bound": BOUND} | options),
    )


@dataclass
class Row:
    """A line of the table: an operation with itself and those below it, or all of them."""

    name: str
    pairs: int = 0
    setups: int = 0
    schedules: int = 0
    broken: tuple = ()

    def add(self, reports):
        """Count one pair more, by its reports."""
        self.pairs, self.setups = self.pairs + 1, self.setups + len(reports)
        self.schedules += sum(report.coverage.schedules for report in reports)
        self.broken += tuple(report.failure.promise for report in reports if not report)

    def __str__(self):
        verdict = ", ".join(sorted(set(self.broken))) or "no failing schedule"
        return f"| {self.name} | {self.pairs} | {self.setups} | {self.schedules:,} | {BOUND} | {verdict} |"


def row(first, store=STREAMS):
    """Explore an operation with itself and those below it, wherever they meet."""
    found = Row(first)
    for pair in PAIRS:
        if pair[0] == first:
            found.add([met(*pair, setup, store=store) for setup in meetings(*pair)])
    return found


def total(rows, name="all"):
    """Return the last line of a table."""
    pairs, setups, schedules = (sum(getattr(row, what) for row in rows) for what in ("pairs", "setups", "schedules"))
    return Row(name, pairs, setups, schedules, sum((row.broken for row in rows), ()))
