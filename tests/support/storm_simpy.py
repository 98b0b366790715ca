"""Another oracle of the retry storm: processes in SimPy."""

import heapq

import simpy


class SimpyStorm:
    """The storm as SimPy processes, without a collapse: a process per job, and one for the pool of workers.

    With a pool of W workers, times are counted in 1/W ms: one start every service/W is a whole number then.
    """

    def __init__(self, waits, downstream, pool=None, poll_ms=0):
        self.env = simpy.Environment()
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
