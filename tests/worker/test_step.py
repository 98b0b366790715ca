"""step: claim once, run, settle; what a handler does decides what becomes of its job."""

from datetime import timedelta
from random import Random

import pytest
from support.rubbish import NO_SECONDS
from support.seeds import seed
from support.world import row, totals

from jobkit.backoff import Exponential, Table
from jobkit.errors import ConfigError, DelayError, Permanent, RetryAfter, UnknownTask
from jobkit.outcome import Outcomes
from jobkit.scheduler import Scheduler
from jobkit.worker import Worker


@pytest.fixture
def worker(queue):
    return Worker(queue, name="w", backoff=Table(7), rng=Random(1))


def told(outcomes):
    return [(outcome.id, outcome.became, outcome.attempt) for outcome in outcomes]


def test_a_handler_gets_its_job_and_its_arguments(queue, worker):
    seen = []

    @worker.task
    def mail(job, to, copies=1):
        seen.append((job.id, job.attempt, job.task, job.worker, to, copies))

    queue.submit("mail", {"to": "ada"}, id="a")
    queue.submit("mail", {"to": "bob", "copies": 2}, id="b")
    assert told(worker.step()) == [("a", "done", 1)]
    assert told(worker.step()) == [("b", "done", 1)]
    assert seen == [("a", 1, "mail", "w", "ada", 1), ("b", 1, "mail", "w", "bob", 2)]
    assert told(worker.step()) == []
    assert totals(queue) == {"submitted": 2, "done": 2}


def test_a_raw_handler_reads_the_payload_itself(queue, worker):
    seen = []

    @worker.task(raw=True)
    def blob(job):
        seen.append(job.payload)

    queue.submit("blob", b"\xff\x00not JSON")
    worker.step()
    assert seen == [b"\xff\x00not JSON"]


def test_names_of_tasks(queue, worker):
    ran = []
    worker.task(name="mail.send v2")(lambda job: ran.append("by name"))
    assert worker.task(ran.append) is not None
    queue.submit("mail.send v2")
    worker.step()
    assert ran == ["by name"]
    assert "mail.send v2" in repr(worker)


@pytest.mark.parametrize("handler", [None, 5, "text"])
def test_a_handler_must_be_callable(worker, handler):
    with pytest.raises(ConfigError, match="function"):
        worker.task(name="x")(handler)


def test_the_last_registration_holds(queue, worker):
    ran = []
    worker.task(name="t")(lambda job: ran.append("first"))
    worker.task(name="t")(lambda job: ran.append("second"))
    queue.submit("t")
    worker.step()
    assert ran == ["second"]


def fails_with(worker, error):
    def handler(job):
        raise error

    worker.task(name="t")(handler)


FATES = {
    "an error": (ValueError("no"), "scheduled 1/5 #1 [retry 1]"),
    "an exit": (SystemExit(3), "scheduled 1/5 #1 [retry 1]"),
    "an assertion": (AssertionError(), "scheduled 1/5 #1 [retry 1]"),
    "a recursion": (RecursionError("deep"), "scheduled 1/5 #1 [retry 1]"),
    "permanent": (Permanent("no such address"), "dead 1/5 #1 [dead 1]"),
    "retry after": (RetryAfter(9), "scheduled 1/5 #1 [retry 1]"),
    "unknown task": (UnknownTask("not mine"), "dead 0/5 #1 [dead 0]"),
}


@pytest.mark.parametrize("fate", FATES)
def test_what_a_handler_raises(queue, worker, fate):
    error, after = FATES[fate]
    fails_with(worker, error)
    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert row(queue) == after
    assert outcome.error.startswith(type(error).__name__)
    assert worker.runner.heartbeat.held() == []
    assert queue.history("j")[0].error["type"] == type(error).__name__


def test_the_traceback_begins_in_the_handler(queue, worker):
    @worker.task
    def t(job):
        {}["missing"]

    queue.submit("t", id="j")
    worker.step()
    traceback = queue.history("j")[0].error["traceback"]
    assert "in t" in traceback
    assert "runner.py" not in traceback


def test_an_error_that_cannot_say_itself_is_settled(queue, worker):
    class MuteError(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    fails_with(worker, MuteError())
    queue.submit("t", id="j")
    worker.step()
    assert row(queue) == "scheduled 1/5 #1 [retry 1]"


@pytest.mark.parametrize(("seconds", "ms"), [(0, 0), (9, 9000), (0.5, 500), (timedelta(minutes=2), 120_000), (-5, 0)])
def test_retry_after_its_own_time(queue, worker, seconds, ms):
    fails_with(worker, RetryAfter(seconds, "busy"))
    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.delay_ms) == ("retry", ms)
    (event,) = queue.history("j")
    assert (event.delay_ms, event.error["message"]) == (ms, "busy")
    assert queue.get("j").run_at == event.ended + ms


@pytest.mark.parametrize("name", NO_SECONDS)
def test_retry_after_nonsense_is_left_to_the_backoff(queue, worker, name):
    fails_with(worker, RetryAfter(NO_SECONDS[name]))
    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.delay_ms) == ("retry", 7000)


def test_at_its_last_attempt(queue, worker):
    fails_with(worker, ValueError("no"))
    queue.submit("t", id="j", max_attempts=2)
    first, second = worker.drain()
    assert (first.became, second.became, second.delay_ms) == ("retry", "dead", 0)
    assert queue.dead()[0].last.delay_ms == 0
    assert row(queue) == "dead 2/2 #2 [retry 1, dead 2]"


def test_a_task_that_nobody_knows_is_buried_and_not_charged(queue, worker):
    queue.submit("nobody", id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.error) == ("dead", "UnknownTask: w has no task 'nobody'")
    assert row(queue) == "dead 0/5 #1 [dead 0]"
    queue.requeue("j")
    worker.task(name="nobody")(lambda job: None)
    assert told(worker.step()) == [("j", "done", 1)]


@pytest.mark.parametrize("payload", [b"\xff", b"[1]", b"5", b"null"])
def test_a_payload_that_is_no_object_is_buried(queue, worker, payload):
    worker.task(name="t")(lambda job, **_: None)
    queue.submit("t", payload, id="j")
    (outcome,) = worker.step()
    assert outcome.became == "dead"
    assert outcome.error.startswith("JobError: the payload is no")


def test_arguments_that_do_not_fit_are_an_error_like_any(queue, worker):
    worker.task(name="t")(lambda job, to: None)
    queue.submit("t", {"to": 1, "more": 2}, id="j")
    (outcome,) = worker.step()
    assert (outcome.became, outcome.error.partition(":")[0]) == ("retry", "TypeError")


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def delay(self, _attempt, _rng):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize("answer", [ZeroDivisionError(), None, "5", float("nan"), float("inf"), 10**30, True, 10**400])
def test_a_broken_backoff_does_not_lose_the_job(queue, answer):
    worker = Worker(queue, backoff=Broken(answer))
    fails_with(worker, ValueError("no"))
    queue.submit("t", id="j")
    (outcome,) = worker.step()
    assert outcome.became == "retry"
    assert 0 <= outcome.delay_ms <= 30_000
    assert row(queue) == "scheduled 1/5 #1 [retry 1]"


def test_the_backoff_is_asked_with_the_attempt(queue):
    asked = []

    class Asked:
        def delay(self, attempt, _rng):
            asked.append(attempt)
            return 1000

    worker = Worker(queue, backoff=Asked())
    fails_with(worker, ValueError("no"))
    queue.submit("t", max_attempts=4)
    assert len(worker.drain()) == 4
    assert asked[:3] == [1, 2, 3]


# -- alone or beside others -------------------------------------------------------------------------


def test_without_a_scheduler_it_never_looks_at_the_delayed_set(queue):
    worker = Worker(queue, scheduler=None)
    worker.task(name="t")(lambda job: None)
    queue.submit("t", id="j", delay=5)
    queue.redis.clock.advance(6)
    assert told(worker.step()) == []
    assert told(worker.drain()) == []
    Scheduler(queue).tick()
    assert told(worker.step()) == [("j", "done", 1)]


@pytest.mark.parametrize("bad", [0, -1, 1001, 1.0, True, None, "2"])
def test_the_size_of_a_batch(queue, bad):
    with pytest.raises(ConfigError, match="batch"):
        Worker(queue, batch=bad)


@pytest.mark.parametrize("setting", ["grace", "max_run"])
def test_times(queue, setting):
    for name, bad in NO_SECONDS.items():
        if name != "None" or setting == "grace":
            with pytest.raises(DelayError, match=setting):
                Worker(queue, **{setting: bad})


def test_how_a_step_reads(queue):
    worker = Worker(queue, backoff=Exponential(7, factor=1, jitter=lambda delay, u: delay))
    fails_with(worker, ValueError("no"))
    queue.submit("t", id="j", delay=5)
    assert repr(worker.step()).startswith("nothing is due; the next job is, in ")
    queue.redis.clock.advance(5)
    assert repr(worker.step()) == "t: ValueError: no, attempt 1, again in 7 s"
    queue.cancel("j")
    assert repr(worker.step()) == "nothing is due"
    assert repr(Outcomes()) == "nothing is due"


@pytest.mark.one_server("a node counts what its neighbours say, too")
@pytest.mark.live_only("the fake does not count commands")
@pytest.mark.parametrize("before", ["done", "recovered", "scheduled"])
def test_what_a_step_costs_that_finds_nothing(queue, worker, before):
    """An idle worker takes a step every two seconds. Commands inside the scripts count, too."""
    worker.task(name="task")(lambda job, n: None)
    seed(queue, before)
    queue.submit("task", {"n": 2})
    while worker.step():
        pass

    def sent():
        return queue.redis.info("stats")["total_commands_processed"]

    begin = sent()
    assert not worker.step()
    costs = {"streams": (9, 10, 12), "lists": (8, 8, 11), "leases": (9, 9, 12)}
    expected = dict(zip(("done", "recovered", "scheduled"), costs[queue.store.name], strict=True))
    assert sent() - begin - 1 == expected[before]  # one of them is INFO
