"""A zombie, whose claim is not the newest any more, changes nothing, whatever became of its job."""

import pytest
from support.keyspace import dump
from support.seeds import seed
from support.world import row

from jobkit.errors import StaleClaim
from jobkit.submission import New

VERBS = {
    "ack": lambda queue, claim: queue.ack(claim),
    "fail": lambda queue, claim: queue.fail(claim, "late", delay=1),
    "fail for good": lambda queue, claim: queue.fail(claim, "late", permanent=True),
    "refuse": lambda queue, claim: queue.refuse(claim, "late"),
    "extend": lambda queue, claim: queue.extend(claim),
    "release": lambda queue, claim: queue.release(claim),
}
verbs = pytest.mark.parametrize("act", VERBS.values(), ids=VERBS)


def refused(queue, act, claim):
    """Assert that the act is refused, and that nothing at all changed."""
    before = dump(queue.redis)
    with pytest.raises(StaleClaim, match="refused"):
        act(queue, claim)
    assert dump(queue.redis) == before


@verbs
@pytest.mark.parametrize("then", ["waits", "runs", "ran", "failed", "died"])
def test_after_its_lease_ran_out(queue, act, then):
    old = seed(queue, "recovered")
    if then != "waits":
        (new,) = queue.claim("w2")
        ends = {
            "ran": lambda: queue.ack(new),
            "failed": lambda: queue.fail(new, "x", delay=9),
            "died": lambda: queue.fail(new, "x", permanent=True),
        }
        ends.get(then, lambda: None)()
    refused(queue, act, old)


@verbs
@pytest.mark.parametrize("then", ["scheduled", "ready", "running", "done"])
def test_after_its_id_was_submitted_anew(queue, act, then):
    """The record that knew the old token is gone: only a counter of the queue's own can tell."""
    queue.submit("t", id="j")
    (zombie,) = queue.claim("w1")
    queue.redis.clock.advance(31)
    queue.recover()
    queue.ack(*queue.claim("w2"))
    queue.redis.clock.advance(3601)
    assert queue.submit("t", id="j", delay=60 if then == "scheduled" else 0).created
    if then in {"running", "done"}:
        (new,) = queue.claim("w3")
        assert new.token > zombie.token
        if then == "done":
            queue.ack(new)
    refused(queue, act, zombie)


@verbs
def test_after_its_record_was_purged_and_made_anew(queue, act):
    old = seed(queue, "dead")
    queue.purge("j")
    queue.submit("t", id="j")
    queue.claim("w2")
    refused(queue, act, old)


@verbs
def test_in_the_next_life_of_a_dead_letter(queue, act):
    seed(queue, "late")
    queue.recover()
    (last,) = queue.claim("w1")
    queue.fail(last, "x", permanent=True)
    queue.requeue("j")
    queue.promote()
    (new,) = queue.claim("w2")
    if act not in {VERBS["fail"], VERBS["fail for good"], VERBS["refuse"]}:  # that same verb is answered as before
        refused(queue, act, last)
    queue.release(new)
    if act is not VERBS["release"]:
        refused(queue, act, new)


@verbs
def test_a_token_of_another_job(queue, act):
    queue.submit_many([New("t", id="a"), New("t", id="b")])
    a, b = queue.claim("w", 2)
    a.token, b.token = b.token, a.token
    refused(queue, act, a)
    refused(queue, act, b)


@verbs
def test_a_token_that_never_was(queue, act):
    claim = seed(queue, "running")
    for token in (0, -1, 2, 10**15, "1 ", "", "01", "1.0", "1e0", "+1", b"\xff"):
        claim.token = token
        refused(queue, act, claim)


@verbs
@pytest.mark.parametrize("first", ["ack", "fail", "release", "refuse"])
def test_another_verb_after_settling(queue, first, act):
    claim = seed(queue, "running")
    VERBS[first](queue, claim)
    same = {"fail": {"fail", "fail for good", "refuse"}, "refuse": {"fail", "fail for good", "refuse"}}.get(
        first, {first}
    )
    if act in [VERBS[verb] for verb in same]:
        before = dump(queue.redis)
        act(queue, claim)
        assert dump(queue.redis) == before
    else:
        refused(queue, act, claim)


@verbs
def test_another_verb_after_a_requested_cancel_was_settled(queue, act):
    claim = seed(queue, "asked to stop")
    queue.release(claim)
    if act is not VERBS["release"]:
        refused(queue, act, claim)


def test_some_of_many_are_stale(queue):
    queue.submit_many([New("t", id=id) for id in "abc"])
    old = queue.claim("w", 3)
    queue.redis.clock.advance(31)
    queue.extend(old[1])
    queue.recover()
    for verb, answer in (("extend", "ok"), ("release", "ready")):
        assert queue.each(verb, old) == ["stale", answer, "stale"]
    assert queue.each("ack", old) == ["stale"] * 3
    new = queue.claim("w2", 3) + queue.claim("w2", 3) + queue.claim("w2", 3)
    assert sorted(claim.id for claim in new) == ["a", "b", "c"]
    assert queue.each("ack", old + new) == ["stale"] * 3 + ["done"] * 3
    assert queue.each("ack", old + new) == ["stale"] * 3 + ["done"] * 3


def test_the_same_claim_twice_in_a_call(queue):
    claim = seed(queue, "running")
    assert queue.each("ack", [claim, claim]) == ["done", "done"]
    assert queue.counts().totals["done"] == 1
    assert row(queue) == "done 1/5 #1 [done 1], expires"


def test_each_of_thousands(queue):
    queue.submit_many([New("t") for _ in range(2000)])
    claims = queue.claim("w", 1000) + queue.claim("w", 1000)
    assert queue.each("extend", claims) == ["ok"] * 2000
    assert queue.each("release", claims[:700]) == ["ready"] * 700
    assert queue.each("ack", claims[700:]) == ["done"] * 1300
    assert (queue.counts().running, queue.counts().ready) == (0, 700)
