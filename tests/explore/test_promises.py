"""The promises that come with the explorer see what they are about."""

import time

import pytest

from jobkit.explore import each_runs_once, explore, jobs, none_runs_twice, nothing_lost


def pop(key, to=None):
    def work(r, w):
        for job, _ in r.zpopmin(key):
            if to:
                r.rpush(to, job)
            else:
                w.effect(f"run {job.decode()}")

    return work


def test_each_runs_once_sees_what_never_ran():
    report = explore(pop("elsewhere"), given=jobs(2), finally_=each_runs_once)
    assert report.failure.what == "j0, j1 never ran"
    assert explore(pop("delayed"), pop("delayed"), given=jobs(2), finally_=each_runs_once)


def test_each_runs_once_says_so_where_it_knows_of_no_job():
    report = explore(pop("delayed"), given=lambda r: None, finally_=each_runs_once)
    assert "no job is known" in report.failure.what
    assert explore(pop("delayed"), given=lambda r: None, finally_=none_runs_twice)


@pytest.mark.parametrize("kind", ["list", "set", "zset", "stream"])
def test_nothing_lost_looks_into_every_kind_of_key(kind):
    def put(r, w):
        r.delete("delayed")
        {
            "list": lambda: r.rpush("there", "j0"),
            "set": lambda: r.sadd("there", "j0"),
            "zset": lambda: r.zadd("there", {"j0": 1}),
            "stream": lambda: r.xadd("there", {"id": "j0"}),
        }[kind]()

    assert explore(put, given=jobs(1), finally_=nothing_lost("delayed", "there"))
    assert not explore(put, given=jobs(1), finally_=nothing_lost("delayed", "elsewhere"))
    assert not explore(put, given=jobs(1), finally_=nothing_lost("delayed", "there"), crashes=1)


def write(r, w):
    r.set("k", "v", ex=10)


def test_a_promise_that_raises_is_shown_with_its_moment():
    report = explore(write, finally_=lambda world: int(world.redis.get("k")) == 1)
    assert report.failure.what.startswith("the promise itself raised ValueError")
    assert [step.text for step in report.failure.steps] == ["SET k v EX 10"]


@pytest.mark.parametrize(
    ("answer", "said"), [(False, "it does not hold"), (b"2", "it returned b'2'"), (0, "it returned 0")]
)
def test_a_promise_that_returns_neither_true_nor_none_does_not_hold(answer, said):
    assert explore(write, finally_=lambda world: answer).failure.what.startswith(said)


def test_without_a_promise_the_verdict_says_so():
    assert "No promise was given" in str(explore(write))
    assert "No promise was given" not in str(explore(write, finally_=lambda world: True))


def test_a_change_stands_at_the_step_that_made_it():
    def work(r, w):
        r.set("k", "v", ex=10)
        w.effect("wait")
        time.sleep(11)
        r.get("k")

    steps = explore(work, finally_=lambda world: False).failure.steps
    assert [(step.kind.value, [change.after for change in step.changes]) for step in steps] == [
        ("command", ["v"]),
        ("effect", []),
        ("jump", [""]),
        ("sleep", []),
        ("command", []),
    ]
