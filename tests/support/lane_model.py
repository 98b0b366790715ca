"""What lanes promise, in a few lines: who is at the head of which, and who may run."""

from dataclasses import dataclass, field

from jobkit.errors import StaleClaim

LEASE = 30


@dataclass
class Lane:
    """The jobs of an entity that are not over, in their order; the first is the head."""

    ids: list = field(default_factory=list)
    ran: list = field(default_factory=list)
    """Who ran, in the order of the first runs of their lives."""


class Lanes:
    """Does something to a queue, and holds each answer against the model. Time is what the clock was advanced by."""

    def __init__(self, queue):
        self.queue, self.lanes, self.entities = queue, {}, {}
        self.held, self.dead, self.asked, self.now = {}, set(), set(), 0
        self.born, self.runs = [], 0

    def submit(self, entity, delay=0, attempts=3):
        id = f"{{{entity}}}{len(self.born)}"
        self.born.append(id)
        self.entities[id] = entity
        lane = self.lanes.setdefault(entity, Lane())
        told = self.queue.submit("t", id=id, entity=entity, delay=delay, max_attempts=attempts)
        wanted = "waiting" if lane.ids else "scheduled" if delay else "ready"
        assert told[1:] == (True, wanted), (told, lane)
        lane.ids.append(id)
        return id

    def claim(self, limit=3):
        """Claim, and see that each is the head of its lane, and that nobody else holds one of it."""
        self.queue.promote()
        claims = self.queue.claim("w", limit)
        for claim in claims:
            lane = self.lanes[self.entities[claim.id]]
            assert lane.ids[0] == claim.id, f"{claim.id} runs, and {lane.ids[0]} came before it"
            others = [held.id for held, until in self.held.values() if held.entity == claim.entity and until > self.now]
            assert not others, f"{claim.id} runs, and {others} of its entity hold leases"
            if claim.attempt == 1 and lane.ran[-1:] != [claim.id]:
                lane.ran.append(claim.id)
            self.held[claim.id, claim.token] = (claim, self.now + LEASE)
            self.runs += 1
        return claims

    def over(self, id, state):
        lane = self.lanes[self.entities[id]]
        assert id in lane.ids, (id, state)
        lane.ids.remove(id)
        self.asked.discard(id)
        if state == "dead":
            self.dead.add(id)

    def settle(self, claim, how, delay=0):
        """Ack, fail, bury or release; a claim that is stale is refused, and changes nothing."""
        valid = self.held.pop((claim.id, claim.token), None)
        try:
            if how == "ack":
                self.queue.ack(claim)
                state = "done"
            elif how == "release":
                state = self.queue.release(claim)
            else:
                state = self.queue.fail(claim, "boom", delay=delay, permanent=how == "bury")
        except StaleClaim:
            assert valid is None or valid[1] <= self.now, f"{claim.id} was refused, though its lease runs"
            return
        assert valid is not None
        if state in {"done", "dead", "cancelled"}:
            self.over(claim.id, state)

    def cancel(self, id):
        if id not in self.lanes[self.entities[id]].ids:
            return
        if self.queue.cancel(id) == "cancelled":
            self.over(id, "cancelled")
        else:
            self.asked.add(id)

    def requeue(self, id):
        if id in self.dead and self.queue.requeue(id) == {id: "requeued"}:
            self.dead.discard(id)
            self.lanes[self.entities[id]].ids.append(id)

    def advance(self, seconds):
        self.queue.clock.advance(seconds)
        self.now += seconds

    def recover(self):
        """Take back what is late, and note which jobs that ended."""
        self.queue.recover()
        for (id, token), (_, until) in list(self.held.items()):
            if until <= self.now:
                del self.held[id, token]
                state = self.queue.get(id).state
                if state in {"dead", "cancelled"}:
                    self.over(id, state)

    def check(self):
        """Each lane has one head that does not wait, and all others wait."""
        waits = 0
        for lane in self.lanes.values():
            for place, id in enumerate(lane.ids):
                state = self.queue.get(id).state
                assert (state == "waiting") == (place > 0), (id, state, lane.ids)
                waits += place > 0
        assert self.queue.counts().waiting == waits

    def finish(self, most=10_000):
        """Let all run to the end, and see that all of them are over."""
        for _ in range(most):
            if not any(lane.ids for lane in self.lanes.values()):
                return
            for claim in self.claim(10):
                self.settle(claim, "ack")
            wait = self.queue.promote().wait
            if not self.queue.counts().ready:
                self.advance(LEASE + 1 if wait is None or self.held else wait)
                self.recover()
        raise AssertionError(f"a lane is stuck: {[lane.ids for lane in self.lanes.values() if lane.ids]}")
