"""Oracles: the same models told event by event. Slow, plain, and written from the definitions."""

import heapq

import pytest


def collapse_or_serve(calls, served, per_window, limit):
    """Decide a window by all its calls, each (time, job, retry): the retry served of each job, or None if it falls."""
    live = [call for call in calls if call[1] not in served]
    if limit is not None and len(live) > limit:
        return None
    chosen = {}
    for _, job, retry in sorted(live):
        if job not in chosen and len(chosen) < per_window:
            chosen[job] = retry
    return chosen


def heap_storm(waits, downstream, poll_ms=0):
    """Every job's calls from one heap, window by window. `waits[job][retry]` in ms; returns as `window.serve` does."""

    def tick(time):
        return -(-time // poll_ms) * poll_ms if poll_ms else time

    heap = [(tick(w[0]), job, 1) for job, w in enumerate(waits)]
    heapq.heapify(heap)
    served, knocked, down_until = {}, [], downstream.outage_ms
    while heap:
        window = (heap[0][0] - downstream.outage_ms) // downstream.window_ms
        start = downstream.outage_ms + window * downstream.window_ms
        end = start + downstream.window_ms if heap[0][0] >= downstream.outage_ms else downstream.outage_ms
        calls = []
        while heap and heap[0][0] < end:  # as if all of them were refused
            time, job, retry = heapq.heappop(heap)
            if job in served:
                continue
            calls.append((time, job, retry))
            if retry < len(waits[job]):
                heapq.heappush(heap, (tick(time + waits[job][retry]), job, retry + 1))
        if end <= downstream.outage_ms or start < down_until:
            continue
        chosen = collapse_or_serve(calls, served, downstream.per_window, downstream.limit)
        if chosen is None:
            knocked.append(start)
            down_until = start
            while down_until < start + max(downstream.down_ms, 1):
                down_until += downstream.window_ms
        else:
            served |= chosen
    return [served.get(job, 0) for job in range(len(waits))], knocked


class SimpyStorm:
    """The storm as SimPy processes, without a collapse: a process per job, and one for the pool of workers.

    With a pool of W workers, times are counted in 1/W ms: one start every service/W is a whole number then.
    """

    def __init__(self, waits, downstream, pool=None, poll_ms=0):
        self.env = pytest.importorskip("simpy").Environment()
        self.waits, self.downstream, self.pool, self.poll_ms = waits, downstream, pool, poll_ms
        self.unit = pool.workers if pool else 1
        self.due, self.served, self.used, self.times = [], {}, {}, {}
        self.news = self.env.event()

    def run(self):
        for job in range(len(self.waits)):
            self.env.process(self.job(job))
        self.env.process(self.dispatcher())
        self.env.run()
        return [self.served.get(job, 0) for job in range(len(self.waits))], self.times

    def job(self, job):
        for retry, wait in enumerate(self.waits[job], 1):
            due = self.env.now // self.unit + wait
            due = -(-due // self.poll_ms) * self.poll_ms if self.poll_ms else due
            yield self.env.timeout(due * self.unit - self.env.now)
            answer = self.env.event()
            heapq.heappush(self.due, (due, job, retry, answer))
            if not self.news.triggered:
                self.news.succeed()
            if (yield answer):
                self.served[job] = retry
                return

    def dispatcher(self):
        while True:
            if not self.due:
                self.news = self.env.event()
                yield self.news
            yield self.end_of_this_instant()
            _, job, retry, answer = heapq.heappop(self.due)
            ok = self.call(job, retry)
            if self.pool is None:
                answer.succeed(ok)
            else:
                begun = self.times[job, retry]
                self.env.process(self.later((begun + self.pool.service_ms) * self.unit, answer, ok))
                yield self.env.timeout(self.pool.service_ms)

    def later(self, at, answer, ok):
        yield self.env.timeout(at - self.env.now)
        answer.succeed(ok)

    def end_of_this_instant(self):
        event = self.env.event()
        event._ok, event._value = True, None
        self.env.schedule(event, priority=9)  # ties go by job, not by who was scheduled first
        return event

    def call(self, job, retry):
        now = self.times[job, retry] = self.env.now // self.unit
        if now < self.downstream.outage_ms:
            return False
        window = (now - self.downstream.outage_ms) // self.downstream.window_ms
        self.used[window] = self.used.get(window, 0) + 1
        return self.used[window] <= self.downstream.per_window


def heap_pool(waits, downstream, pool, poll_ms=0):
    """The storm through a pool, from one heap of due calls, with a collapse too."""

    def tick(time):
        return -(-time // poll_ms) * poll_ms if poll_ms else time

    due = [(tick(w[0]), job, 1) for job, w in enumerate(waits)]
    heapq.heapify(due)
    served, times, knocked = {}, {}, []
    free, down_until = 0, downstream.outage_ms
    open_window, calls = None, []

    def close():
        nonlocal down_until
        start = downstream.outage_ms + open_window * downstream.window_ms
        chosen = {}
        if open_window >= 0 and start >= down_until:
            chosen = collapse_or_serve(calls, served, downstream.per_window, downstream.limit)
            if chosen is None:
                knocked.append(start)
                down_until = start
                while down_until < start + max(downstream.down_ms, 1):
                    down_until += downstream.window_ms
                chosen = {}
        served.update(chosen)
        for time, job, retry in calls:
            if job not in chosen and retry < len(waits[job]):
                heapq.heappush(due, (tick(time + pool.service_ms + waits[job][retry]), job, retry + 1))
        calls.clear()

    def serve_now(time, job, retry):
        # Without a collapse the answer is known at once: what was let in before in this window counts.
        window = (time - downstream.outage_ms) // downstream.window_ms
        count[window] = count.get(window, 0) + 1
        if time >= downstream.outage_ms and count[window] <= downstream.per_window:
            served[job] = retry
        elif retry < len(waits[job]):
            heapq.heappush(due, (tick(time + pool.service_ms + waits[job][retry]), job, retry + 1))

    count = {}
    while due or calls:
        start = max(due[0][0] * pool.workers, free) // pool.workers if due else None
        window = None if start is None else (start - downstream.outage_ms) // downstream.window_ms
        if calls and window != open_window:
            close()
            continue
        time, job, retry = heapq.heappop(due)
        free = max(time * pool.workers, free) + pool.service_ms
        times[job, retry] = start
        if downstream.limit is None:
            serve_now(start, job, retry)
        else:
            open_window = window
            calls.append((start, job, retry))
    return [served.get(job, 0) for job in range(len(waits))], times, knocked


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


@pytest.fixture
def oracle():
    """The event-driven oracles, by name."""

    class Oracle:
        heap = staticmethod(heap_storm)
        pool = staticmethod(heap_pool)
        simpy = SimpyStorm
        queue = QueueOracle

    return Oracle
