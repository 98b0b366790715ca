"""One campaign, on a server of its own, from the first submit to the last count."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from redis.exceptions import RedisError

from jobkit.answers import Counts
from jobkit.chaos.failover import Failover
from jobkit.chaos.order import overlaps, overtaken
from jobkit.chaos.plan import LEASE, SCHEDULERS, SHARDS, STORE, Plan, Report, log_key, queue_of
from jobkit.chaos.pulse import Pulse
from jobkit.clock import Clock, new_rng
from jobkit.connect import Connected, PrivateCluster, PrivateServer
from jobkit.errors import JobkitError
from jobkit.once import effect_key
from jobkit.processes import Crew
from jobkit.queue import Queue
from jobkit.shards import ShardedQueue
from jobkit.submission import New

SEARCH = 20.0
"""Seconds in which a worker at work is looked for, to be killed: on a busy machine they need a while to come back."""


def campaign(plan: Plan, progress: Callable[[int], object] | None = None) -> Report:
    """Run a campaign; `progress` is told how many jobs are settled. Raises ServerUnavailable without a server."""
    os.environ |= {LEASE: str(plan.lease), STORE: plan.store}
    os.environ |= {SHARDS: str(plan.shards), SCHEDULERS: str(plan.schedulers)}
    with PrivateCluster() if plan.cluster else PrivateServer(appendonly=plan.restarts > 0) as server:
        queue = queue_of(server.client())
        with (
            Crew(server.client(), "jobkit.chaos.shop:worker", plan.workers) as crew,
            _pulse(plan, server.client()) as pulse,
        ):
            parts = queue.shards if isinstance(queue, ShardedQueue) else (queue,)
            blow = Failover(server, parts) if isinstance(server, PrivateCluster) else server.restart
            run = _Campaign(plan, blow, queue, crew)
            run.submit(plan.jobs // 2 if plan.cluster and plan.restarts else plan.jobs)
            run.strike(progress or (lambda _settled: None))
            crew.stop()
            return replace(run.books(), **(pulse.books()._asdict() if pulse else {}))


def _pulse(plan: Plan, redis: Connected) -> contextlib.AbstractContextManager[Pulse | None]:
    """Begin the schedule, where the plan has schedulers for it."""
    if not plan.schedulers:
        return contextlib.nullcontext()
    return contextlib.closing(Pulse(redis, plan.schedulers, plan.leaders_hit))


class _Campaign:
    def __init__(self, plan: Plan, blow: Callable[[], object], queue: Queue | ShardedQueue, crew: Crew) -> None:
        self.plan, self._blow, self._queue, self._crew = plan, blow, queue, crew
        self._rng, self._clock = new_rng(plan.seed), Clock()
        self._replaced = self._restarted = 0
        self._hit: list[tuple[int, list[str]]] = []
        """Of each kill: when (ms), and the jobs whose handlers it hit."""
        self.jobs = [self._job(n) for n in range(plan.jobs)]
        self._submitted = 0

    def _job(self, n: int) -> New:
        draw = self._rng.randint
        work = {"before": draw(5, 40), "after": draw(0, 10), "failures": int(self._rng.random() < 0.1)}
        delay = self._rng.choice((0, 0, 0, self._rng.random()))
        entity = f"e{self._rng.randrange(self.plan.entities)}" if self.plan.entities else None
        return New("order", work, delay=delay, id=f"{{{entity}}}{n}" if entity else f"order-{n}", entity=entity)

    def submit(self, upto: int) -> None:
        """Submit the jobs up to that one, until it is acked: they have ids of their own, so none is there twice."""
        jobs, self._submitted = self.jobs[self._submitted : upto], upto
        _asked(lambda: self._queue.submit_many(jobs))

    def _strike_redis(self) -> None:
        """Kill the server, or a master just after a part of the jobs that were held back."""
        left = self.plan.jobs - self._submitted
        blows = self.plan.restarts - self._restarted
        self.submit(self._submitted + left // blows)
        self._blow()
        self._restarted += 1

    def _forgotten(self, counts: Counts) -> int:
        return self._submitted - counts.totals.get("submitted", 0)

    def strike(self, progress: Callable[[int], object]) -> None:
        """Kill and restart, evenly over the progress, until all is settled, or nothing moves any more."""
        blows = [self._kill] * self.plan.kills + [self._strike_redis] * self.plan.restarts
        self._rng.shuffle(blows)
        every = self.plan.jobs / (len(blows) + 1)
        struck, settled, moved = 0, 0, self._clock.monotonic()
        while settled < self.plan.jobs or struck < len(blows):
            self._replaced += len(self._crew.replace())
            counts = _asked(self._queue.counts)
            before, settled = settled, counts.totals.get("done", 0) + counts.dead + self._forgotten(counts)
            if settled != before:
                moved = self._clock.monotonic()
                progress(settled)
            if struck < len(blows) and settled >= every * struck:
                self._clock.sleep(self._rng.random() * 0.05)
                blows[struck]()
                struck += 1
            elif self._clock.monotonic() - moved > self.plan.patience:
                return
            self._clock.sleep(0.005)

    def _kill(self) -> None:
        """Kill a worker that is at work, if one is found in time, and start another in its place."""
        end = self._clock.monotonic() + SEARCH
        while True:
            name = self._rng.choice(sorted(self._crew.running))
            self._crew.freeze(name)  # so that what the journal says of it is still true when the kill comes
            if self._at_work(name) or self._clock.monotonic() > end:
                break
            self._crew.thaw(name)
            self._replaced += len(self._crew.replace())
            self._clock.sleep(self._rng.random() * 0.02)
        self._crew.kill(name)
        self._hit.append((self._crew.killed[-1][0], self._at_work(name)))
        self._crew.start()

    def _at_work(self, name: str) -> list[str]:
        """Return the jobs whose handlers have begun in a worker and not ended."""
        begun: Counter[str] = Counter()
        for mark in self._crew.marks():
            if mark.worker == name:
                begun[mark.id] += 1 if mark.what == "start" else -1
        return [job for job, runs in begun.items() if runs > 0]

    def books(self) -> Report:
        """Count, after the last kill, what Redis and the journal hold."""
        plan, counts = self.plan, _asked(self._queue.counts)
        done = counts.totals.get("done", 0)
        keys = [effect_key(self._queue, str(job.id)) for job in self.jobs]
        effects = [int(times or 0) for times in _asked(lambda: self._each("get", keys))]
        entities = {job.entity for job in self.jobs if job.entity is not None}
        logs = _asked(lambda: self._each("lrange", [log_key(self._queue, entity) for entity in entities], 0, -1))
        marks = self._crew.marks()
        starts = [mark for mark in marks if mark.what == "start"]
        return Report(
            submitted=counts.totals.get("submitted", 0),
            done=done,
            dead=counts.dead,
            lost=plan.jobs - done - counts.dead - self._forgotten(counts),
            forgotten=self._forgotten(counts),
            runs=len(starts),
            extra_runs=len(starts) - len({mark.id for mark in starts}) - counts.totals.get("retried", 0),
            double_effects=sum(times > 1 for times in effects),
            missing_effects=max(0, done - sum(times > 0 for times in effects)),
            kills=len(self._hit),
            kills_in_flight=sum(bool(jobs) for _, jobs in self._hit),
            restarts=plan.restarts,
            replaced=self._replaced,
            slowest_recovery_s=max(
                (self._until_next_start(job, at) for at, jobs in self._hit for job in jobs), default=0
            )
            / 1000,
            overlaps=overlaps(marks, {name: at for at, name in self._crew.killed}, round(plan.lease * 1000))
            if entities
            else 0,
            overtaken=overtaken(
                {entity: [id.decode() for id in log] for entity, log in zip(entities, logs, strict=True)},
                [str(job.id) for job in self.jobs],
            ),
        )

    def _each(self, command: str, keys: list[str], *args: int) -> list[Any]:
        """Read many keys, whose shards may be on different nodes."""
        pipe = self._queue.redis.pipeline(transaction=False)
        for key in keys:
            getattr(pipe, command)(key, *args)
        answers: list[Any] = pipe.execute()
        return answers

    def _until_next_start(self, job: str, at: int) -> int:
        later = [mark.at for mark in self._crew.marks() if mark.id == job and mark.what == "start" and mark.at >= at]
        return min(later, default=at) - at


def _asked(question: Callable[[], Any]) -> Any:
    """Ask a server that may be starting again."""
    clock = Clock()
    for _ in range(100):
        try:
            return question()
        except RedisError:
            clock.sleep(0.1)
    raise JobkitError("the campaign's server did not come back within 10 s")
