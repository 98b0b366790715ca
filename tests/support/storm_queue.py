"""The oracle of the queue with a timeout."""

import heapq


class QueueOracle:
    """The queue with a timeout, an event each for arrivals, ends of service, timeouts, and the outage."""

    FINISH, OUTAGE, TIMEOUT, RETRY, FIRST = range(5)  # in this order, if they fall on one instant

    def __init__(self, fresh, waits, server, timeout, until, *, budget=None, shed=None):
        self.waits, self.server, self.timeout = waits, server, timeout
        self.budget, self.shed, self.tokens = budget, shed, budget.size if budget else None
        self.queue, self.hand, self.left, self.frozen = [], None, None, False
        self.calls, self.done = {}, {}
        self.events = [(at, self.FIRST, request, 0) for request, at in enumerate(fresh)]
        self.events += [(server.outage_ns, self.OUTAGE, 0, 0), (server.outage_ns + server.down_ns, self.OUTAGE, 1, 0)]
        heapq.heapify(self.events)
        self.until = until

    def run(self):
        while self.events:
            now, kind, request, attempt = heapq.heappop(self.events)
            if kind in {self.RETRY, self.FIRST}:
                if now < self.until:
                    self.arrive(now, request, attempt, first=kind == self.FIRST)
            elif kind == self.FINISH:
                if self.left is None and self.hand == (request, attempt):
                    self.finish(now)
            elif kind == self.TIMEOUT:
                if (request, attempt) not in self.done:
                    self.give_up(now, request, attempt)
            else:
                self.freeze(now, begins=request == 0)
        return self.calls, self.done

    def arrive(self, now, request, attempt, first):
        if first:
            self.earn("request")
        self.calls[request, attempt] = now
        heapq.heappush(self.events, (now + self.timeout, self.TIMEOUT, request, attempt))
        self.queue.append((request, attempt))
        self.next(now)

    def next(self, now):
        while self.hand is None and self.queue:
            call = self.queue.pop(0)
            if self.shed is not None and now - self.calls[call] > self.shed:
                continue
            self.hand, self.left = call, self.server.service_ns
            if not self.frozen:
                self.resume(now)

    def resume(self, now):
        heapq.heappush(self.events, (now + self.left, self.FINISH, *self.hand))
        self.ends, self.left = now + self.left, None

    def freeze(self, now, begins):
        self.frozen = begins
        if self.hand is not None:
            if begins:
                self.left = self.ends - now
            else:
                self.resume(now)

    def finish(self, now):
        if now != self.ends:
            return  # the end that was planned before the outage
        self.done[self.hand] = now
        if now <= self.calls[self.hand] + self.timeout:
            self.earn("success")
        self.hand = None
        self.next(now)

    def earn(self, per):
        if self.budget and self.budget.per == per:
            self.tokens = min(self.budget.size, self.tokens + self.budget.ratio)

    def give_up(self, now, request, attempt):
        if attempt == len(self.waits):
            return
        if self.budget:
            if self.tokens < 1 - 1e-9:
                return
            self.tokens -= 1
        heapq.heappush(self.events, (now + self.waits[attempt][request], self.RETRY, request, attempt + 1))
