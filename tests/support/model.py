"""What a queue promises, as a few lines of Python: the oracle of the state machine.

Time here is the sum of what the clock was advanced by. Every duration in the tests is a multiple of
ten seconds, so that the few real ones that pass on a live server change nothing.
"""

from collections import Counter
from dataclasses import dataclass, field

LEASE, RETENTION = 30, 3600


@dataclass
class Entry:
    """A job's record, as far as it decides anything."""

    limit: int
    state: str
    due: float = 0
    attempt: int = 0
    token: int = 0
    lease_over: float = 0
    asked: bool = False
    settled: tuple = ()
    gone_at: float | None = None
    suspect: bool = False
    skipped: bool = True
    """False while a cancelled job's entry still lies in the ready store."""
    outcomes: list = field(default_factory=list)


class Model:
    """Says what each verb answers; `jobs` and `totals` say what the state is then."""

    def __init__(self):
        self.now = 0
        self.jobs = {}
        self.totals = Counter()
        self.tokens = 0

    def count(self, what):
        self.totals[what] += 1

    def advance(self, seconds):
        self.now += seconds
        self.jobs = {id: job for id, job in self.jobs.items() if job.gone_at is None or job.gone_at > self.now}

    def submit(self, id, delay, limit):
        if id in self.jobs:
            return False, self.jobs[id].state
        self.jobs[id] = Entry(limit, "scheduled" if delay else "ready", self.now + delay)
        self.count("submitted")
        return True, self.jobs[id].state

    def due(self):
        waiting = [(job.due, id) for id, job in self.jobs.items() if job.state == "scheduled"]
        return [id for at, id in sorted(waiting) if at <= self.now]

    def promote(self, limit):
        moved = self.due()[:limit]
        for id in moved:
            self.jobs[id].state = "ready"
        return len(moved)

    def ready(self):
        return {id for id, job in self.jobs.items() if job.state == "ready"}

    def claimed(self, claims, limit, still_there):
        """Check what a claim returned; `still_there` are the cancelled jobs whose entries were not skipped yet."""
        ready = self.ready()
        suspects = {id for id in ready if self.jobs[id].suspect}
        assert bool(claims) == bool(ready), (claims, ready)
        assert len(claims) <= (1 if suspects & {claim.id for claim in claims} else limit)
        for claim in claims:
            job = self.jobs[claim.id]
            assert claim.id in ready
            ready.discard(claim.id)
            assert claim.token > self.tokens
            job.attempt += 1
            assert claim.attempt == job.attempt <= job.limit
            job.state, job.token, self.tokens = "running", claim.token, claim.token
            job.lease_over, job.suspect = self.now + LEASE, False
        for id, job in self.jobs.items():
            if job.state == "cancelled" and not job.skipped and id not in still_there:
                job.skipped, job.gone_at = True, self.now + RETENTION

    def mine(self, claim):
        job = self.jobs.get(claim.id)
        return job if job and job.state == "running" and job.token == claim.token else None

    def again(self, claim, verb):
        """What the same call was answered before, if this was it."""
        job = self.jobs.get(claim.id)
        return job.settled[2] if job and job.settled[:2] == (verb, claim.token) else "StaleClaim"

    def ack(self, claim):
        job = self.mine(claim)
        if not job:
            return self.again(claim, "ack")
        self.end(job, "done", claim, "ack")
        return "done"

    def fail(self, claim, delay, *, permanent=False, charged=True):
        job = self.mine(claim)
        if not job:
            return self.again(claim, "fail")
        last = permanent or not charged or job.attempt >= job.limit
        job.attempt -= not charged
        if job.asked or last:
            return self.end(job, "cancelled" if job.asked else "dead", claim, "fail")
        job.state, job.due, job.settled = "scheduled", self.now + delay, ("fail", claim.token, "scheduled")
        self.count("retried")
        return "scheduled"

    def release(self, claim):
        job = self.mine(claim)
        if not job:
            return self.again(claim, "release")
        job.attempt -= 1
        if job.asked:
            return self.end(job, "cancelled", claim, "release")
        job.state, job.settled = "ready", ("release", claim.token, "ready")
        self.count("released")
        return "ready"

    def extend(self, claim):
        job = self.mine(claim)
        if not job:
            return "StaleClaim"
        job.lease_over = self.now + LEASE
        return job.asked

    def end(self, job, state, claim=None, verb=None):
        job.state = state
        if state != "dead":
            job.gone_at = self.now + RETENTION
        if claim:
            job.settled = (verb, claim.token, state)
        self.count(state)
        return state

    def cancel(self, id):
        job = self.jobs.get(id)
        if not job:
            return "UnknownJob"
        if job.state == "running":
            job.asked = True
            return "requested"
        if job.state in {"done", "dead"}:
            return "WrongState"
        if job.state != "cancelled":
            waits = job.state == "ready"
            self.end(job, "cancelled")
            if waits:
                job.skipped, job.gone_at = False, None
        return "cancelled"

    def recover(self):
        ready = dead = 0
        for job in self.jobs.values():
            if job.state != "running" or job.lease_over > self.now:
                continue
            if job.asked:
                self.end(job, "cancelled")
            elif job.attempt >= job.limit:
                dead += 1
                self.end(job, "dead")
            else:
                ready += 1
                job.state, job.suspect = "ready", True
                self.count("recovered")
        return ready, dead

    def requeue(self, id, over):
        job = self.jobs.get(id)
        if not job or job.state != "dead":
            return job.state if job else "missing"
        job.state, job.due, job.attempt, job.asked, job.suspect = "scheduled", self.now + 0 * over, 0, False, False
        self.count("requeued")
        return "requeued"

    def purge(self, id):
        if id not in self.jobs or self.jobs[id].state != "dead":
            return 0
        del self.jobs[id]
        self.count("dropped")
        return 1
