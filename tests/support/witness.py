"""Follows a schedule step by step: what the queue was before and after, who holds what, and who ought to."""

from dataclasses import dataclass

from support.acts import SETTLES, Act, acts_of
from support.picture import Picture, picture

from jobkit.errors import StaleClaim
from jobkit.explore.calls import Call
from jobkit.once import effect_key, once
from jobkit.queue import Queue

LEASE = 30
READS = frozenset({b"XRANGE", b"SCAN", b"HGET", b"ZSCORE", b"ZRANGE", b"HGETALL"})
ROUNDS = 12
"""Turns of a recovery after which a job that still is not over never will be."""


@dataclass(frozen=True)
class Ledger:
    """Who was promised what, from the answers: the records may say something else."""

    holds: dict
    """(id, token) -> until when (ms), for each claim that was handed out, not settled and not taken back."""
    runs: dict
    """id -> how often it was handed out in this life, what is not charged left out."""
    cancelled: frozenset
    """The ids of which somebody was told: cancelled, or it will be."""
    told: dict
    """(verb, id, token) -> the answer that settled a claim, or said that its effect is applied."""

    @classmethod
    def of(cls, start):
        """Read the ledger of a set-up."""
        jobs = start.jobs.items()
        return cls(
            {(id, job.token): start.at + LEASE * 1000 - age for id, job in jobs for _, _, age in job.leases},
            {id: job.attempt for id, job in jobs},
            frozenset(id for id, job in jobs if b"cancel" in job.record or job.state == "cancelled"),
            {},
        )

    def then(self, acts, before, after):
        """Return the ledger after a step."""
        holds, runs, told, cancelled = dict(self.holds), dict(self.runs), dict(self.told), set(self.cancelled)
        for act in acts:
            claim, until = (act.id, act.token), after.at + LEASE * 1000
            if act.verb == "claim":
                holds[claim], runs[act.id] = until, runs.get(act.id, 0) + 1
            elif act.verb == "extend" and claim in holds and act.answer != "stale":
                holds[claim] = until
            elif act.answer in SETTLES.get(act.verb, ()) and claim in holds:
                del holds[claim]
                told[act.verb, *claim] = act.answer
                runs[act.id] -= act.verb == "release" or act.number == -2
            elif act.verb == "once" and act.answer == "applied":
                told[act.verb, *claim] = act.answer
            elif act.verb == "cancel" and act.answer in {"cancelled", "requested"}:
                cancelled.add(act.id)
            elif before.job(act.id).state == {"requeue": "dead", "submit": None}.get(act.verb, "-"):
                runs[act.id] = 0
        for id, token in [claim for claim, until in holds.items() if until <= after.at]:
            if (after.job(id).state, after.job(id).token) != ("running", token):
                del holds[id, token]
        return Ledger(holds, runs, frozenset(cancelled), told)


@dataclass(frozen=True)
class Moment:
    """A step, and all there is to say of it."""

    who: str
    acts: tuple
    before: Picture
    after: Picture
    was: Ledger
    now: Ledger
    answered: tuple = ()
    """What the same call was answered before, if that reply was lost and this is the call again."""
    last: bool = False
    """All was recovered, and nothing is left to do."""

    @classmethod
    def first(cls, start):
        """Return the moment of a set-up."""
        ledger = Ledger.of(start)
        return cls("", (), start, start, ledger, ledger)

    def then(self, who, acts, after, **more):
        """Return the next moment."""
        now = self.now.then(acts, self.after, after)
        return Moment(who, tuple(acts), self.after, after, self.now, now, **more)


class Witness:
    """Gives the promises their moments: `world.moments` are those that nobody has judged yet.

    A search runs a schedule that begins as an earlier one did, again and again: what was seen there
    and judged is not looked at once more. Nor is how a queue ends that ended so before.
    """

    def __init__(self, store, *, repairs=False):
        self._store, self._repairs = store, repairs
        self._known, self._ends = {}, set()
        self._queue = None

    def watch(self, world):
        """Look at the step that was just taken. The first of the promises that hold always."""
        if self._queue is None:
            self._queue = Queue(world.redis, "q", ready=self._store, lease=LEASE)
        past = tuple([event.choice for event in world.events])
        world.moments = []
        moment = self._known.get(past)
        if moment is None:
            moment = self._seen(world)
            world.moments = [moment]
        world.moment, world.past = moment, past

    def passed(self, world):
        """Note that this moment broke nothing. The last of the promises that hold always."""
        self._known[world.past] = world.moment

    def _seen(self, world):
        if not world.events:
            return Moment.first(picture(self._queue))
        new = world.events[len(world.past) :]
        after = world.moment.after if all(map(_changes_nothing, new)) else picture(self._queue)
        acts = [act for event in new for act in acts_of(event)]
        return world.moment.then(
            new[0].choice.worker, acts, after, answered=tuple(_answered(world.events, len(world.past)))
        )

    def recover(self, world):
        """Let a lease pass, recover, and run what there is to its end. The first of the promises at the end."""
        world.end = (world.moment.after.text, repr(world.moment.now))
        world.moments = []
        if world.end in self._ends:
            return
        moment = world.moment
        for acts in _recovery(self._queue, repairs=self._repairs):
            moment = moment.then("Z", acts, picture(self._queue))
            world.moments.append(moment)
        world.moments.append(moment.then("Z", [], moment.after, last=True))

    def ended(self, world):
        """Note that this end broke nothing. The last of the promises at the end."""
        self._ends.add(world.end)


def _changes_nothing(event):
    """Whether a step only read; a crash is none that changes anything."""
    if event.choice.what == "!":
        return True
    return isinstance(event.request, Call) and all(args[0] in READS for args in event.request.commands)


def _answered(events, at):
    """Return the acts of the same call, if it was sent before event number `at` and its reply was lost."""
    before = [event for event in events[:at] if event.choice.worker == events[at].choice.worker]
    first = acts_of(before[-1]) if before and before[-1].choice.what == "?" else []
    same = [act[:3] for act in first] == [act[:3] for act in acts_of(events[at])]  # verb, id, token
    return first if same else []


def _recovery(queue, *, repairs):
    """Do, step by step, what is left to do, and yield the acts of each step."""
    queue.redis.clock.advance(LEASE + 1)
    yield []
    queue.recover()
    yield [Act("recover")]
    if repairs:
        queue.repair()
        yield [Act("adopt")]
    for _ in range(ROUNDS):
        wait = queue.promote().wait
        yield [Act("promote")]
        claims = queue.claim("Z", 10)
        yield [Act("claim", claim.id, claim.token, "running", claim.attempt) for claim in claims]
        for claim in claims:
            yield [Act("once", claim.id, claim.token, _once(queue, claim))]
            yield [Act("ack", claim.id, claim.token, queue.each("ack", [claim])[0])]
        if not claims and wait is None:
            return
        if not claims:
            queue.redis.clock.advance(wait)
            yield []


def _once(queue, claim):
    try:
        return "applied" if once(queue, claim, ("INCR", effect_key(queue, claim.id))) else "before"
    except StaleClaim:
        return "stale"
