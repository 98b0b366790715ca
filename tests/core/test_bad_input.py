"""What cannot be meant is refused with one clear exception, before anything is written."""

from datetime import UTC, datetime, timedelta

import pytest
from support.keyspace import dump
from support.rubbish import NO_MOMENTS, NO_NAMES, NO_PAYLOADS, NO_SECONDS, NO_WHOLE_NUMBERS
from support.seeds import seed

from jobkit.connect import connect
from jobkit.errors import ConfigError, DelayError, JobError, JobkitError
from jobkit.keys import Keys
from jobkit.queue import Queue
from jobkit.submission import New


def without_none(values):
    """Where None means something."""
    return {name: value for name, value in values.items() if value is not None}


LIMITS = NO_WHOLE_NUMBERS | {"zero": 0, "1001": 1001}
SUBMIT = {
    "id": (NO_NAMES, JobError),
    "task": (NO_NAMES | {"None": None}, JobError),
    "entity": (NO_NAMES, JobError),
    "args": (NO_PAYLOADS, JobError),
    "delay": (NO_SECONDS, DelayError),
    "at": (NO_MOMENTS, DelayError),
    "priority": (NO_WHOLE_NUMBERS | {"ten": 10}, JobError),
    "max_attempts": (without_none(LIMITS), JobError),
}


@pytest.fixture
def unchanged(queue):
    """A queue with jobs in some states; afterwards it is as it was."""
    seed(queue, "dead")
    queue.submit("t", id="r")
    (running,) = queue.claim("w")
    queue.submit_many([New("t", id="waits", delay=9), New("t", id="ready")])
    before = dump(queue.redis)
    queue.running = running
    yield queue
    assert dump(queue.redis) == before


def refuse(error, act, name="it"):
    """Assert that the act raises this error, and says in one line what is wrong."""
    with pytest.raises(error) as caught:
        print(f"{name} was accepted: {act()!r:.200}")
    assert isinstance(caught.value, (JobkitError, TypeError)), name
    assert 10 < len(str(caught.value)) < 600, name
    assert "\n" not in str(caught.value), name


@pytest.mark.parametrize("field", SUBMIT)
def test_submit(unchanged, field):
    values, error = SUBMIT[field]
    for name, bad in values.items():
        refuse(error, lambda bad=bad: unchanged.submit(**{"task": "t"} | {field: bad}), name)


@pytest.mark.parametrize("field", SUBMIT)
def test_submit_many_checks_all_before_it_writes_one(unchanged, field):
    values, error = SUBMIT[field]
    for name, bad in values.items():
        jobs = [New("t")] * 501 + [New(**{"task": "t"} | {field: bad})]
        refuse(error, lambda jobs=jobs: unchanged.submit_many(jobs), name)


def test_submit_with_a_delay_and_a_moment(unchanged):
    refuse(JobError, lambda: unchanged.submit("t", delay=1, at=datetime.now(UTC) + timedelta(1)))
    refuse(DelayError, lambda: unchanged.submit("t", at=datetime.now(UTC) + timedelta(days=3660)))
    refuse(DelayError, lambda: unchanged.submit("t", at=datetime.max.replace(tzinfo=UTC)))


CALLS = {
    "claim limit": (LIMITS, lambda queue, bad: queue.claim("w", bad), JobError),
    "claim worker": (NO_NAMES | {"None": None}, lambda queue, bad: queue.claim(bad), JobError),
    "promote limit": (LIMITS, lambda queue, bad: queue.promote(bad), JobError),
    "recover limit": (LIMITS, lambda queue, bad: queue.recover(bad), JobError),
    "dead limit": (LIMITS, lambda queue, bad: queue.dead(bad), JobError),
    "dead offset": (NO_WHOLE_NUMBERS, lambda queue, bad: queue.dead(offset=bad), JobError),
    "fail delay": (NO_SECONDS, lambda queue, bad: queue.fail(queue.running, "x", delay=bad), DelayError),
    "fail error": (
        {"None": None, "number": 5, "bytes": b"x", "class": ValueError},
        lambda queue, bad: queue.fail(queue.running, bad),
        (JobError, TypeError),
    ),
    "requeue over": (NO_SECONDS, lambda queue, bad: queue.requeue("j", over=bad), DelayError),
    "requeue all over": (NO_SECONDS, lambda queue, bad: queue.requeue(over=bad), DelayError),
    "requeue id": (NO_NAMES | {"None": None}, lambda queue, bad: queue.requeue("j", bad), JobError),
    "purge older_than": (
        without_none(NO_SECONDS),
        lambda queue, bad: queue.purge(older_than=bad),
        DelayError,
    ),
    "purge id": (NO_NAMES | {"None": None}, lambda queue, bad: queue.purge("j", bad), JobError),
    "cancel id": (NO_NAMES | {"None": None}, lambda queue, bad: queue.cancel(bad), JobError),
    "get id": (NO_NAMES | {"None": None}, lambda queue, bad: queue.get(bad), JobError),
    "history id": (NO_NAMES | {"None": None}, lambda queue, bad: queue.history(bad), JobError),
    "tidy idle": (
        without_none(NO_SECONDS),
        lambda queue, bad: queue.tidy(idle=bad),
        DelayError,
    ),
}


@pytest.mark.parametrize("verb", CALLS)
def test_every_other_verb(unchanged, verb):
    values, call, error = CALLS[verb]
    for name, bad in values.items():
        refuse(error, lambda bad=bad: call(unchanged, bad), name)


SETTINGS = {
    "lease": (NO_SECONDS | {"too short": 0.009, "zero": 0}, DelayError),
    "retention": (NO_SECONDS | {"too short": 0.9}, DelayError),
    "dead_age": (NO_SECONDS, DelayError),
    "dead_max": (NO_WHOLE_NUMBERS, JobError),
    "history_max": (LIMITS, JobError),
    "max_attempts": (LIMITS, JobError),
}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_settings_of_a_queue(fake, setting):
    values, error = SETTINGS[setting]
    for name, bad in values.items():
        refuse(error, lambda bad=bad: Queue(fake, "q", **{setting: bad}), name)
    assert fake.dbsize() == 0


@pytest.mark.parametrize("name", [*NO_NAMES.values(), None, "a{b", "a}b", "{}"])
def test_the_name_of_a_queue(fake, name):
    refuse(ConfigError, lambda: Queue(fake, name))


@pytest.mark.parametrize("prefix", [None, 5, b"lab:", "a{b", "}", "\ud800"])
def test_the_prefix_of_a_queue(prefix):
    refuse(ConfigError, lambda: Keys("q", prefix))


def test_a_client_that_cannot_work():
    refuse(ConfigError, lambda: Queue(object(), "q"))
    refuse(ConfigError, lambda: Queue(connect("fake").pipeline(), "q"))


def test_a_verb_that_each_does_not_know(unchanged):
    for verb in ("fail", "submit", "", None, "nothing"):
        with pytest.raises((JobkitError, TypeError, KeyError)):
            unchanged.each(verb, [unchanged.running])
