"""Whatever ends a search, its workers are unwound, and everything is as it was before."""

import contextlib
import os
import random
import sys
import threading
import time
import uuid

import pytest
import redis as redis_py

from jobkit.connect import connect
from jobkit.errors import ExploreError
from jobkit.explore import explore


def sets(r):
    r.set("a", 1)


def starts_a_thread(r):
    threading.Thread(target=print).start()


def disguised():
    """All that a search puts something else in the place of."""
    return (
        [vars(time)[name] for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "sleep")],
        [vars(random)[name] for name in ("random", "getrandbits", "_urandom")],
        [name for name in ("random", "getrandbits") if name in vars(random._inst)],
        (os.urandom, uuid.uuid1, threading.Thread.start),
        (redis_py.ConnectionPool.get_connection, redis_py.BlockingConnectionPool.get_connection),
    )


BEFORE = disguised()


@pytest.fixture(autouse=True)
def everything_is_as_before():
    yield
    assert disguised() == BEFORE
    assert not [thread for thread in threading.enumerate() if "explore" in thread.name]


def test_one_who_catches_all_does_not_outlive_his_death():
    def catches(r):
        for _ in range(3):
            with contextlib.suppress(BaseException):
                r.get("x")
        r.set("after", 1)

    def for_good(r):
        if r.get("go on") is None:
            while True:
                with contextlib.suppress(BaseException):
                    r.get("x")

    assert explore(catches, catches, crashes=1, finally_=lambda w: len(w.crashed) == 1 or bool(w.redis.get("after")))
    dies = explore(for_good, sets, crashes=1, schedule="AA!", finally_=lambda w: w.redis.get("a") == b"1")
    assert dies
    assert dies.coverage.longest == 3


@pytest.mark.parametrize("where", ["worker", "given", "promise"])
def test_an_interrupt_goes_through(where):
    def stop(*_args):
        raise KeyboardInterrupt

    parts = {"worker": {}, "given": {"given": stop}, "promise": {"finally_": stop}}[where]
    with pytest.raises(KeyboardInterrupt):
        explore(*[sets, stop if where == "worker" else sets], **parts)


def test_what_the_set_up_raises_goes_through():
    def wrong(_):
        raise LookupError("wrong")

    with pytest.raises(LookupError, match="wrong"):
        explore(sets, given=wrong)
    assert explore(sets, finally_=wrong).failure.what == "the promise itself raised LookupError: wrong"


def test_what_a_worker_raises_is_a_failure():
    def ends(r):
        r.get("x")
        sys.exit(3)

    assert explore(ends).failure.what == "A raised SystemExit: 3"
    assert explore(ends, may_raise=(SystemExit,))


def test_a_worker_is_not_woken_after_an_error_in_another():
    """Its `finally` runs before `explore` is left, and finds that nothing arrives any more."""
    ended = []

    def tidies(r):
        try:
            r.get("x")
        finally:
            ended.append(current(r))

    def current(r):
        try:
            return r.get("x")
        except BaseException as error:  # noqa: BLE001 - what it is, is the question
            return type(error).__name__

    with pytest.raises(ExploreError, match="starts a thread"):
        explore(tidies, starts_a_thread)
    assert ended == ["Gone"]


def test_it_works_in_a_given_and_in_another_thread():
    reports = []

    def search():
        reports.append(explore(sets, given=lambda _: explore(sets)))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [bool(report) for report in reports] == [True] * 3


def test_connect_without_a_url_is_fine_outside_of_workers():
    with connect("fake") as mine:
        mine.set("mine", 1)
        assert explore(sets, given=lambda r: mine.get("mine"), finally_=lambda w: mine.get("mine") == b"1")


def test_a_dead_workers_pipeline_makes_no_noise(capsys):
    def watches(r):
        pipe = r.pipeline()  # never closed: it tidies up when it is collected
        pipe.watch("a")
        pipe.get("a")

    assert explore(watches, watches, crashes=1, bound=None)
    assert "ignored" not in capsys.readouterr().err
