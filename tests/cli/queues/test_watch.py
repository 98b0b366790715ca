"""`jobkit stats --watch`: rates between two looks. On the fake, whose time is the test's to move."""

import json

import pytest
import redis as redis_py

import jobkit as jk
from jobkit.shards import ShardedQueue


@pytest.fixture
def redis(fake):
    return fake


@pytest.fixture
def working(queue, worker, monkeypatch):
    """Between two looks a job is done, and two seconds pass."""

    def sleep(_clock, _seconds):
        queue.submit("receipt", {"to": "ada"})
        worker.step()
        queue.clock.advance(2)

    monkeypatch.setattr(jk.Clock, "sleep", sleep)


def test_a_watch_shows_rates_and_ends_after_so_many_looks(working, url, call):
    first, second, third = call("stats", "mail", "--watch", "--looks", "3")[1].strip().split("\n\nnow ")
    assert "per second" not in first + second.partition("ever")[0]
    for look, done in ((second, 1), (third, 2)):
        assert f"done          {done}  0.5\n" in look
        assert look.endswith("1 start, late by 0 ms in the mean; half by 5 ms at most, 99 % by 5 ms in 2 s")


def test_a_watch_in_json_is_one_line_a_look(working, url, call):
    looks = [json.loads(line) for line in call("stats", "mail", "--watch", "--looks", "2", "--json")[1].splitlines()]
    assert ["since" in look for look in looks] == [False, True]
    assert looks[1]["since"] == {
        "seconds": 2.0,
        "per_second": {"submitted": 0.5, "done": 0.5},
        "lateness": {"starts": 1, "seconds": 0.0, "by": {"0.005": 1}},
    }


def test_a_watch_of_many_queues_shows_the_rates_of_each(working, redis, url, call):
    jk.Queue(redis, "post").submit("receipt")
    last = call("stats", "mail", "post", "--watch", "--looks", "2")[1].strip().splitlines()[-4:]
    assert last[0].split()[-4:] == ["submitted/s", "done/s", "retried/s", "dead/s"]
    assert [line.split()[-4:] for line in last[1:]] == [["0.5", "0.5", "0", "0"], ["0"] * 4, ["0.5", "0.5", "0", "0"]]


def test_a_watch_outlives_a_server_that_does_not_answer(url, call, monkeypatch):
    looks = iter([[], redis_py.ConnectionError("gone"), redis_py.TimeoutError("late"), []])

    def stats(queue):
        look = next(looks)
        if isinstance(look, Exception):
            raise look
        return measure(queue)

    measure = jk.Queue.stats
    monkeypatch.setattr(jk.Queue, "stats", stats)
    monkeypatch.setattr(jk.Clock, "sleep", lambda clock, seconds: None)
    status, out, err = call("stats", "mail", "--watch", "--looks", "4", "--json")
    assert (status, len(out.splitlines())) == (0, 2)
    assert err.splitlines()[1:] == ["Redis does not answer; the next look tries again"] * 2


def test_a_queue_in_shards_has_a_line_for_each(redis, url, call):
    queue = ShardedQueue(redis, "mail", shards=3)
    queue.submit_many([jk.New("receipt")] * 20)
    lines = [line.split() for line in call("stats", "mail")[1].splitlines()[1:]]
    assert [line[0] for line in lines] == ["mail:shard-0", "mail:shard-1", "mail:shard-2", "all"]
    assert [int(line[2]) for line in lines] == [*(part.counts().ready for part in queue.shards), 20]
    assert queue.stats().ready == 20


@pytest.mark.parametrize("options", [("--every", "0"), ("--looks", "0")])
def test_a_watch_that_cannot_be_is_one_line(options, url, call):
    status, out, err = call("stats", "mail", "--watch", *options)
    assert (status, out, err.count("\n")) == (2, "", 1)
