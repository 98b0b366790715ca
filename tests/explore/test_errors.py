"""What cannot be explored says so, and why."""

import asyncio
import concurrent.futures
import contextlib
import inspect
import threading
import time

import fakeredis
import pytest
import redis as redis_py

from jobkit.errors import ConfigError, DelayError, ExploreError, UnsafeServer
from jobkit.explore import explore

LITTLE = 0.2
"""Seconds of patience with those who have no end."""


def sets(r):
    r.set("a", 1)


def starts_a_thread(r):
    threading.Thread(target=print).start()


def starts_threads(r):
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(print)


async def coroutine(r):
    pass


async def asynchronous_generator(r):
    yield r


def generator(r):
    yield r


def loops(r):
    while True:
        pass


def loops_and_catches(r):
    while True:
        with contextlib.suppress(BaseException):
            sum(range(100))


def polls(r):
    while not r.get("never"):
        time.sleep(1)


def catches_all(r):
    while True:
        with contextlib.suppress(BaseException):
            r.get("x")


def subscribes(r):
    with r.pubsub() as told:
        told.subscribe("news")
        told.get_message(timeout=1)


def explores(r):
    explore(sets)


def asks_a_fake(r):
    r.get("a")
    fakeredis.FakeRedis().get("a")


def asks_a_server(r):
    redis_py.Redis().get("a")


WORKERS = {
    starts_a_thread: "worker A starts a thread",
    starts_threads: "worker A starts a thread",
    coroutine: "worker A is a coroutine or a generator",
    asynchronous_generator: "worker A is a coroutine or a generator",
    generator: "worker A is a coroutine or a generator",
    loops: "worker A ran for 0.2 s without a command: an endless loop",
    loops_and_catches: "worker A ran for 0.2 s without a command: an endless loop",
    polls: "goes on after 100[01] steps: a loop that polls",
    catches_all: "goes on after 1000 steps",
    subscribes: "worker A subscribes",
    explores: "inside a worker of another exploration",
    asks_a_fake: "worker A asks Redis through a client of its own",
    asks_a_server: "worker A asks Redis through a client of its own",
}


@pytest.mark.parametrize("work", WORKERS, ids=lambda work: work.__name__)
def test_what_cannot_be_explored_says_so(work):
    with pytest.raises(ExploreError, match=WORKERS[work]):
        explore(work, patience=LITTLE)


def test_where_an_event_loop_runs_already_a_search_runs_too():
    async def cell():
        return explore(sets, sets)

    assert asyncio.run(cell())


@pytest.mark.parametrize("part", ["given", "finally_", "always", "never"])
def test_what_is_not_a_workers_may_not_be_endless_either(part):
    with pytest.raises(ExploreError, match="no worker sent a command: does a promise, or `given`, never end"):
        explore(sets, **{part: loops}, patience=LITTLE)


def counting():
    """Return two workers that keep something in a global."""
    turns = iter(range(100))
    return lambda r: r.set("a", next(turns)), lambda r: [r.set("a", 1) for _ in range(2 + next(turns) % 2)]


def test_a_worker_that_keeps_something_is_found_out():
    first, _ = counting()
    with pytest.raises(ExploreError, match=r"did not do the same twice: step 1 was `B: SET a 1`, then `SET a 3`"):
        explore(first, first)


def test_a_schedule_that_has_got_longer_or_shorter_is_found_out():
    _, second = counting()
    with pytest.raises(ExploreError, match="did not do the same twice"):
        explore(second, sets, sets, bound=None, reduce=False)


def test_a_promise_that_changes_its_mind_is_found_out():
    looks = iter(range(100))
    with pytest.raises(ExploreError, match=r"did not do the same twice: step 2 was there, then not"):
        explore(sets, sets, sets, never=lambda _: next(looks) == 5)


@pytest.mark.parametrize(
    ("schedule", "error"),
    [
        ("A;", "a schedule is made of A, A[?], A! and [+]"),
        ("a", "a schedule is made of A, A[?], A! and [+]"),
        ("AB", "goes on after place 1, where all is over"),
        ("B", "says B at place 1, where only A can happen"),
        ("A!", "says A! at place 1, where only A can happen"),
        ("+", "says [+] at place 1"),
    ],
)
def test_a_schedule_of_another_program_says_so(schedule, error):
    with pytest.raises(ExploreError, match=error):
        explore(sets, schedule=schedule)


SETTINGS = [
    *[{name: value} for name in ("crashes", "lost_replies", "schedules", "bound") for value in (-1, True, 1.5, "1")],
    {"schedules": 0},
    {"crashes": None},
    {"crashes": 10},
    {"clock_jump": -1},
    {"clock_jump": "soon"},
    {"offsets": [1, 2]},
    {"offsets": 1},
    {"offsets": ["a"]},
    *[{"patience": value} for value in (0, -1, True, "long", float("nan"))],
    *[{"given": 1}, {"after_crash": 1}, {"finally_": 1}, {"always": [sets, 1]}, {"never": "no"}],
    {"seed": "x"},
    {"schedule": 1},
    {"seed": 1, "schedule": "A"},
    {"after_crash": lambda: None},
]


@pytest.mark.parametrize("settings", SETTINGS, ids="+".join)
def test_settings_that_make_no_sense(settings):
    with pytest.raises((ConfigError, DelayError), match=next(iter(settings)).rstrip("_") + "|schedule|worker"):
        explore(sets, **settings)


@pytest.mark.parametrize("workers", [[], [sets] * 9, [1], [lambda: None], [lambda r, w, more: None]], ids=len)
def test_workers_that_are_none(workers):
    with pytest.raises(ConfigError, match=r"functions|a worker is a function"):
        explore(*workers)


def test_a_function_may_keep_what_it_needs_in_a_default():
    assert explore(
        *[lambda r, job=job: r.rpush("done", job) for job in "xy"], finally_=lambda w: w.redis.llen("done") == 2
    )


def test_promises_may_come_from_an_iterator():
    report = explore(sets, finally_=iter([lambda _: None, lambda _: "no"]))
    assert report.failure.what == "no"
    assert explore(sets, finally_=iter([lambda _: "no"]), schedule="A").failure


def test_a_server_of_somebody_elses_is_refused():
    with redis_py.Redis(port=1) as stranger, pytest.raises(UnsafeServer, match="explore runs only on a server that"):
        explore(sets, redis=stranger)


def test_another_fake_is_refused(fake):
    with pytest.raises(ExploreError, match="a fake of its own"):
        explore(sets, redis=fake)


def test_each_setting_is_told_of():
    documented = inspect.getdoc(explore)
    for name in inspect.signature(explore).parameters:
        assert f"`{name}" in documented or name == "workers", name
