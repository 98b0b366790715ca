"""A client's clock decides nothing: hours off, and every answer and moment is the same."""

import re
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from support.keyspace import dump, server_ms
from support.wire import Wire

from jobkit.backoff import Exponential
from jobkit.clock import Clock
from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New
from jobkit.worker import Worker


class Skewed(Clock):
    """A clock that is wrong by some seconds; what it moves and sleeps is the right one."""

    def __init__(self, right, seconds):
        self._right, self._seconds = right, seconds
        self.can_advance = right.can_advance

    def now(self):
        return self._right.now() + round(self._seconds * 1000)

    def monotonic(self):
        return self._right.monotonic() + self._seconds

    def advance(self, seconds):
        self._right.advance(seconds)


def client_of(redis, seconds):
    """A client of the same server whose machine has a wrong clock."""
    client = Wire().client(redis)
    client.clock = Skewed(redis.clock, seconds)
    return client


def relative(redis, began):
    """Everything on the server, moments as counted from the beginning; on a live one without them: time passes."""
    moment = re.compile(r"(?<!\d)1\d{12}(?!\d)")
    live = re.compile(moment.pattern + r"(-\d+)?")  # entries of one ms are numbered there
    if redis.server.kind != "fake":
        return live.sub("T", repr(dump(redis)))
    return moment.sub(lambda found: f"T{int(found[0]) - began:+}", repr(dump(redis)))


def day(client, store):
    """Take some jobs through all verbs; return what was decided, and the state at the end."""
    client.flushall()
    began = server_ms(client)
    queue = Queue(client, "q", ready=store, rng=Random(1))
    told = [queue.submit("t", id="at", at=datetime.fromtimestamp((began + 500_000) // 1000, UTC))]
    told += queue.submit_many([New("t", id=f"j{n}", delay=5 * n, max_attempts=2) for n in range(6)])
    told.append(queue.promote().moved)
    for n in range(6):
        claims = queue.claim(f"w{n}", 2)
        told += [(claim.id, claim.attempt) for claim in claims]
        for claim in claims[: n % 2]:
            told.append(queue.fail(claim, "x", delay=20))
        client.clock.advance(11)
        told += [queue.promote().moved, queue.recover()]
    told.append(queue.cancel("at"))
    client.clock.advance(40)
    tick = Scheduler(queue).tick()
    told += [tick.promoted, tick.recovered, tick.buried]
    told += [(letter.id, letter.last.outcome) for letter in queue.dead()]
    told.append(queue.requeue())
    told.append(queue.purge(older_than=3600))
    return told, relative(client, began)


@pytest.mark.parametrize("seconds", [3600, -3600, 0.5, -86_400 * 365, 86_400 * 365])
def test_a_clock_that_is_wrong_changes_nothing(redis, store, seconds):
    right = day(client_of(redis, 0), store)
    assert day(client_of(redis, seconds), store) == right


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_two_machines_that_do_not_agree(redis, store, seconds):
    ahead, right = (Queue(client_of(redis, s), "q", ready=store) for s in (seconds, 0))
    ahead.submit("t", id="j", delay=10)
    assert right.promote().moved == 0
    redis.clock.advance(10)
    assert ahead.promote().moved == 1
    (claim,) = ahead.claim("w")
    redis.clock.advance(20)
    assert right.recover() == ahead.recover() == (0, 0)
    redis.clock.advance(11)
    assert right.recover() == (1, 0)
    (claim,) = right.claim("w")
    ahead.fail(claim, "x", delay=10)
    assert right.counts().wait == pytest.approx(10, abs=2)


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_moments_are_the_servers(redis, store, seconds):
    queue = Queue(client_of(redis, seconds), "q", ready=store)
    before = server_ms(redis)
    queue.submit("t", id="j")
    queue.fail(*queue.claim("w"), "x", delay=5)
    after = server_ms(redis)
    (event,), job = queue.history("j"), queue.get("j")
    assert before <= job.created <= event.started <= event.ended <= after
    assert job.run_at == event.ended + 5000


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_a_worker_on_a_machine_that_is_wrong(redis, store, seconds):
    queue = Queue(client_of(redis, seconds), "q", ready=store, rng=Random(2))
    worker = Worker(queue, backoff=Exponential(10), rng=Random(3))

    @worker.task
    def task(job, n):
        if job.attempt <= n:
            raise ValueError(n)

    queue.submit_many([New("task", {"n": n}, delay=n) for n in range(3)])
    outcomes = worker.drain()
    assert [(outcome.attempt, outcome.became) for outcome in outcomes].count((1, "done")) == 1
    assert [outcome.became for outcome in outcomes].count("retry") == 3
    assert queue.counts().totals == {"submitted": 3, "done": 3, "retried": 3}


def test_a_moment_ten_years_ahead_is_judged_generously(redis, store):
    """The one use of a client's clock: an `at` that nobody can mean is refused. A day more or less is no matter."""
    now = datetime.fromtimestamp(redis.clock.now() / 1000, UTC)
    for seconds in (-86_400, 86_400):
        queue = Queue(client_of(redis, seconds), "q", ready=store)
        queue.submit("t", at=now + timedelta(days=9 * 365))
