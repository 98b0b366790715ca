"""A death before every command of every operation, and after its last.

Every job that was accepted then has exactly one place, and after a lease another worker ends what
was begun as if nobody had died: every job in the same state, with its effect applied once.
"""

import pytest
from support.operations import OPERATIONS, check_copies, finish, make, quietly, small_steps
from support.steps import Death, Steps
from support.stores import put
from support.world import levels

from jobkit.queue import CHUNK, Queue
from jobkit.submission import New


@pytest.fixture(autouse=True)
def steps_of_two(request, monkeypatch):
    if "size" not in request.node.name:
        small_steps(monkeypatch)


def live_through(redis, store, name, steps):
    """Start anew, do it by these steps, and what a caller does who knows nothing of it: the same again."""
    redis.flushall()
    prepare, act = OPERATIONS[name]
    queue = make(redis, store)
    found = prepare(queue)
    doomed = make(steps.client(redis), store)
    if name == "step":
        redis.script_flush()  # every script is two commands then, EVALSHA and EVAL: die between them, too
    try:
        act(doomed, found, [])
    except Death:
        if name != "repair":  # then some have no place yet: that is what it repairs
            check_copies(queue)
    else:
        check_copies(queue)
    doomed.redis.close()
    quietly(act, queue, found, [])
    return finish(queue)


@pytest.mark.parametrize("name", OPERATIONS)
def test_a_death_before_every_command(redis, store, name):
    live_through(redis, store, name, Steps())  # now the server knows the scripts
    whole = Steps()
    expected = live_through(redis, store, name, whole)
    assert whole.sent > 0
    for at in range(1, whole.sent + 2):
        steps = Steps.death(at)
        assert live_through(redis, store, name, steps) == expected, f"a death before command {at}"
        assert steps.sent == min(at, whole.sent), "not the commands that were counted"


@pytest.mark.parametrize("at", [2, 3])
def test_a_death_between_the_scripts_of_a_submit_of_full_size(redis, store, at):
    queue = make(redis, store)
    queue.submit("ok", id="warm-up")
    jobs = [New("ok", id=f"j{n}", delay=n % 2) for n in range(2 * CHUNK + 100)]
    steps = Steps.death(at)
    try:
        make(steps.client(redis), store).submit_many(jobs)
    except Death:
        check_copies(queue)
    assert sum(levels(queue)) == 1 + min(CHUNK * (at - 1), len(jobs))
    assert [answer.created for answer in queue.submit_many(jobs)].count(True) == max(0, len(jobs) - CHUNK * (at - 1))
    check_copies(queue)
    assert sum(levels(queue)) == 1 + len(jobs)


def test_a_promote_of_several_commands_would_be_caught(redis, store):
    """The check can fail: this is how a job is lost between two commands."""

    def pop_then_push(client, keys, limit):
        ids = client.zrange(keys.delayed, 0, limit - 1)
        client.zrem(keys.delayed, *ids)
        put(client, make(client, store), ids[0])
        return ids

    def die(at):
        redis.flushall()
        queue = make(redis, store)
        queue.submit("ok", id="j0")
        queue.release(*queue.claim("w"))
        queue.submit("ok", id="j1", delay=5)
        redis.clock.advance(5)
        with pytest.raises(Death):
            Queue(Steps.death(at).client(redis), "q", ready=store, promote=pop_then_push).promote()
        check_copies(queue)

    die(1)
    die(2)
    with pytest.raises(AssertionError):
        die(3)
