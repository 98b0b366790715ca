"""submit and submit_many: a record that exists is the dedup mark."""

from datetime import UTC, datetime, timedelta

import pytest
from support.keyspace import dump, server_ms
from support.seeds import ROWS
from support.table import Change, check, complete
from support.world import levels, row, rows, totals

from jobkit.answers import Submitted
from jobkit.errors import JobError
from jobkit.job import State
from jobkit.submission import New

AGAIN = complete(
    {
        "missing": Change(Submitted("j", created=True, state=State.READY), "ready 0/9", ("submitted",)),
    },
    otherwise=lambda state: Submitted("j", created=False, state=State(ROWS[state].split()[0])),
)


@pytest.mark.parametrize(("state", "expected"), AGAIN)
def test_the_same_id_again(queue, state, expected):
    check(queue, state, lambda queue, _: queue.submit("other", {"n": 2}, id="j", priority=3, max_attempts=9), expected)


@pytest.mark.parametrize(("state", "expected"), AGAIN)
def test_the_same_id_again_among_others(queue, state, expected):
    def act(queue, _):
        return queue.submit_many([New("other", id="j", max_attempts=9)])[0]

    check(queue, state, act, expected)


def test_a_delayed_job(queue):
    assert queue.submit("t", {"n": 1}, id="j", delay=5) == ("j", True, "scheduled")
    assert (row(queue), levels(queue)) == ("scheduled 0/5", (1, 0, 0, 0))
    assert queue.counts().wait == pytest.approx(5, abs=2)


@pytest.mark.parametrize("delay", [0, 0.0, -1, -1e300, 0.0004, timedelta(0), timedelta(days=-1)])
def test_no_delay_is_ready_at_once(queue, delay):
    assert queue.submit("t", id="j", delay=delay) == ("j", True, "ready")
    assert (row(queue), levels(queue)) == ("ready 0/5", (0, 1, 0, 0))


@pytest.mark.parametrize("delay", [1, 0.25, timedelta(hours=1), 2**31 / 1000, 2**32 / 1000, 315_360_000])
def test_when_it_is_due(queue, delay):
    before = server_ms(queue.redis)
    queue.submit("t", id="j", delay=delay)
    after = server_ms(queue.redis)
    job = queue.get("j")
    ms = round((delay.total_seconds() if isinstance(delay, timedelta) else delay) * 1000)
    assert before <= job.created <= after
    assert job.run_at == job.created + ms
    assert queue.redis.zscore(queue.keys.delayed, "j") == job.run_at


def test_an_aware_datetime(queue):
    moment = datetime.fromtimestamp(queue.redis.clock.now() // 1000, UTC) + timedelta(hours=1)
    assert queue.submit("t", id="j", at=moment).state == State.SCHEDULED
    assert queue.get("j").run_at == moment.timestamp() * 1000


@pytest.mark.parametrize("years", [1, 60])
def test_a_datetime_in_the_past_is_now(queue, years):
    moment = datetime(2026, 1, 1, tzinfo=UTC) - timedelta(days=365 * years)
    assert queue.submit("t", id="j", at=moment) == ("j", True, "ready")
    assert (row(queue), levels(queue)) == ("ready 0/5", (0, 1, 0, 0))


def test_what_a_record_says(queue):
    queue.submit("mail", {"to": "ä"}, id="j", delay=5, priority=9, entity="customer 7", max_attempts=3)
    job = queue.get("j")
    assert (job.task, job.payload, job.args) == ("mail", '{"to":"ä"}'.encode(), {"to": "ä"})
    assert (job.priority, job.entity, job.attempt, job.max_attempts) == (9, "customer 7", 0, 3)


def test_the_defaults_of_a_record(make_queue):
    job = make_queue().get(make_queue().submit("t").id)
    assert (job.payload, job.args, job.priority, job.entity, job.max_attempts) == (b"", {}, 0, None, 5)
    other = make_queue("other", max_attempts=7)
    assert other.get(other.submit("t").id).max_attempts == 7


def test_fresh_ids_are_short_and_different(queue):
    ids = [queue.submit("t").id for _ in range(50)] + [s.id for s in queue.submit_many([New("t")] * 50)]
    assert len(set(ids)) == 100
    assert all(1 <= len(id) <= 22 and id.isascii() for id in ids)


def test_many_at_once_go_in_order_and_answer_one_each(queue):
    jobs = [New("t", id=f"j{n}", delay=n % 2) for n in range(1201)]
    answers = queue.submit_many(iter(jobs))
    assert answers == [(f"j{n}", True, "scheduled" if n % 2 else "ready") for n in range(1201)]
    assert levels(queue) == (600, 601, 0, 0)
    assert totals(queue) == {"submitted": 1201}
    assert [claim.id for claim in queue.claim("w", 3)] == ["j0", "j2", "j4"]


def test_many_with_some_that_exist(queue):
    queue.submit("t", id="a", delay=5)
    answers = queue.submit_many([New("t", id="b"), New("t", id="a"), New("t", id="c", delay=1)])
    assert answers == [("b", True, "ready"), ("a", False, "scheduled"), ("c", True, "scheduled")]
    assert rows(queue) == {"a": "scheduled 0/5", "b": "ready 0/5", "c": "scheduled 0/5"}


def test_nothing_is_nothing(queue):
    before = dump(queue.redis)
    assert queue.submit_many([]) == []
    assert dump(queue.redis) == before


def test_an_id_that_stands_twice_is_refused(queue):
    before = dump(queue.redis)
    with pytest.raises(JobError, match="twice"):
        queue.submit_many([New("t", id="a"), New("t", id="b"), New("t", id="a")])
    assert dump(queue.redis) == before


def test_queues_and_prefixes_do_not_meet(make_queue, redis):
    mail, sms = make_queue("mail"), make_queue("sms")
    for queue in (mail, sms):
        assert queue.submit("t", id="j").created
    assert (levels(mail), levels(sms)) == ((0, 1, 0, 0), (0, 1, 0, 0))
    mail.claim("w")
    assert (levels(mail), levels(sms)) == ((0, 0, 1, 0), (0, 1, 0, 0))
