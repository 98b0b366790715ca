"""The promises that come with the explorer see what they are about."""

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
