"""The pieces of design B as its document has them break the promise that each names, and no other of these."""

import pytest
from support.stores import end_the_leases, places
from support.world import levels

from jobkit.explore import explore
from jobkit.queue import Queue
from jobkit.ready import Lists
from jobkit.ready.asfound import by_nanoseconds, plain_pipeline, pop_and_forget, schedule_ns

LEASE = 30


def handed_out_twice(redis, **pieces):
    """Whether two schedulers can make one job ready twice, in some order of their commands."""

    def queue(client):
        return Queue(client, "q", ready=Lists(), lease=LEASE, **pieces)

    def given(client):
        plain = Queue(client, "q", ready=Lists())
        plain.submit("t", id="j", delay=5)
        client.clock.advance(5)

    def once(world):
        copies = places(Queue(world.redis, "q", ready=Lists()))[b"j"]
        return None if copies <= 1 else f"j is ready {copies} times"

    report = explore(*[lambda client, _me: queue(client).promote()] * 2, given=given, finally_=[once], bound=1)
    return not report


def lost_with_its_worker(redis, **pieces):
    """Whether a job that was claimed by a worker that died never comes back by itself."""
    redis.flushall()
    queue = Queue(redis, "q", ready=Lists(), lease=LEASE, **pieces)
    queue.submit("t", id="j")
    queue.redis.clock.advance(5)
    queue.promote()
    assert [claim.id for claim in queue.claim("w")] == ["j"]
    end_the_leases(queue)
    redis.clock.advance(LEASE + 1)
    return queue.recover() == (0, 0) and levels(queue) == (0, 0, 0, 0)


def out_of_order(redis, **pieces):
    """Whether of two jobs the earlier becomes ready after the later, with the ids against it."""
    redis.flushall()
    queue = Queue(redis, "q", ready=Lists(), **pieces)
    in_ns = pieces.get("promote") is by_nanoseconds
    for id, ms in (("b", 100), ("a", 101)):
        queue.submit("t", id=id, delay=ms / 1000)
    if in_ns:
        first = redis.zscore(queue.keys.delayed, "b") * 1_000_000
        redis.zadd(queue.keys.delayed, {"b": first, "a": first + 100})
    redis.clock.advance(1)
    queue.promote()
    return [claim.id for claim in queue.claim("w", 2)] != ["b", "a"]


CHECKS = {"handed out twice": handed_out_twice, "lost": lost_with_its_worker, "out of order": out_of_order}
BREAKS = {
    "the kit's own": ({}, set()),
    "plain_pipeline": ({"promote": plain_pipeline}, {"handed out twice"}),
    "pop_and_forget": ({"take": pop_and_forget}, {"lost"}),
    "by_nanoseconds": ({"promote": by_nanoseconds}, {"handed out twice", "out of order"}),
}


@pytest.mark.parametrize("name", BREAKS)
def test_each_breaks_what_it_says_and_nothing_else(redis, name):
    pieces, broken = BREAKS[name]
    assert {what for what, check in CHECKS.items() if check(redis, **pieces)} == broken


@pytest.mark.parametrize("piece", [plain_pipeline, pop_and_forget, by_nanoseconds])
def test_each_says_that_it_is_unsafe(piece):
    assert piece.__doc__.startswith("UNSAFE ")


def test_a_score_in_ns_is_rounded_to_256(fake):
    """On the fake, since `advance` on a live server takes the scores for ms."""
    redis = fake
    queue = Queue(redis, "q", ready=Lists(), promote=by_nanoseconds)
    queue.submit("t", id="j", delay=60)
    for ns in (100, 1000, 10**9 + 1):
        schedule_ns(redis, queue.keys, "j", ns)
        assert redis.zscore(queue.keys.delayed, "j") % 256 == 0
    redis.clock.advance(2)
    assert queue.promote().moved == 1
