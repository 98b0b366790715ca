"""What is the lists' own: priorities in order, and a share for each if they are fair."""

import pytest
from support.world import levels

from jobkit.errors import ConfigError
from jobkit.queue import Queue
from jobkit.ready import Lists
from jobkit.submission import New


@pytest.fixture
def store():
    return Lists()


def fill(queue, **jobs):
    """Submit so many jobs of a priority: p9=3, p0=1."""
    for name, n in jobs.items():
        priority = int(name[1:])
        queue.submit_many([New("t", id=f"{priority}-{i}", priority=priority) for i in range(n)])


def taken(queue, limit, times):
    """Return the priorities in the order in which the jobs are handed out."""
    return [claim.priority for _ in range(times) for claim in queue.claim("w", limit)]


@pytest.mark.parametrize("limit", [1, 4, 100])
def test_in_order_of_priority_then_of_arrival(queue, limit):
    fill(queue, p0=2, p9=2, p5=3)
    claims = [claim.id for _ in range(7) for claim in queue.claim("w", limit)]
    assert claims == ["9-0", "9-1", "5-0", "5-1", "5-2", "0-0", "0-1"]


def test_a_promoted_a_released_and_a_requeued_job_keep_their_priority(queue):
    queue.submit("t", id="high", priority=7, delay=5)
    queue.submit("t", id="low", delay=1)
    queue.redis.clock.advance(5)
    queue.promote()
    (claim,) = queue.claim("w")
    assert claim.id == "high"
    queue.release(claim)
    (claim,) = queue.claim("w")
    assert claim.id == "high"
    queue.fail(claim, "x", permanent=True)
    queue.requeue("high")
    queue.promote()
    assert [claim.id for claim in queue.claim("w", 2)] == ["high", "low"]


def test_strict_order_starves_the_lowest(queue):
    fill(queue, p0=1)
    for n in range(50):
        queue.submit("t", id=f"urgent-{n}", priority=9)
        assert queue.claim("w")[0].priority == 9
    assert levels(queue)[1] == 1


@pytest.mark.parametrize("limit", [1, 3, 40])
@pytest.mark.parametrize("fair", [2, 4])
def test_a_fair_queue_gives_each_its_share(make_queue, fair, limit):
    queue = make_queue(ready=Lists(fair=fair))
    fill(queue, **{f"p{priority}": 200 if priority == 9 else 20 for priority in range(10)})
    order = taken(queue, limit, 40 * fair // limit + 1)
    for start in range(len(order) - 10 * fair + 1):
        window = order[start : start + 10 * fair]
        assert set(window) == set(range(10)), f"from {start} on a priority gets nothing"
        assert window.count(9) == 10 * fair - 9


def test_what_an_empty_list_would_have_got_goes_to_the_next_below(make_queue):
    queue = make_queue(ready=Lists(fair=2))
    fill(queue, p9=60, p3=60)
    assert taken(queue, 1, 40).count(3) == 12  # of each ten fair turns those of 8 to 3; 2, 1 and 0 go round to 9


def test_what_waits_is_taken_whatever_is_empty(make_queue):
    queue = make_queue(ready=Lists(fair=3))
    fill(queue, p4=5)
    assert taken(queue, 2, 4) == [4] * 5
    assert levels(queue) == (0, 0, 5, 0)


@pytest.mark.parametrize("wrong", [0, 1, -3, 1001, 2.0, True, "4"])
def test_what_is_not_fair(wrong):
    with pytest.raises(ConfigError, match="fair is a whole number"):
        Lists(fair=wrong)


def test_a_record_that_is_gone_leaves_no_job_behind(queue):
    queue.submit("t", id="j", priority=4)
    queue.redis.delete(queue.keys.job + "j")
    queue.redis.hincrby(queue.keys.totals, "submitted", -1)
    assert queue.claim("w") == []
    assert levels(queue) == (0, 0, 0, 0)


def test_it_refuses_what_streams_hold(redis):
    Queue(redis, "q").submit("t")
    with pytest.raises(ConfigError):
        Queue(redis, "q", ready=Lists()).claim("w")
