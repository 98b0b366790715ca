"""Many at once on a real server, let go by a barrier: each job runs once."""

import threading
from collections import Counter

import pytest
from support.operations import check_copies
from support.world import levels, totals

from jobkit.queue import Queue
from jobkit.scheduler import Scheduler
from jobkit.submission import New

JOBS = 1000
pytestmark = pytest.mark.live_only(reason="threads meet in a server, not in a lock of this process")


def together(*acts):
    """Run them all in threads that start at one moment; return what each returned."""
    barrier, results = threading.Barrier(len(acts)), [None] * len(acts)

    def run(n):
        barrier.wait(20)
        results[n] = acts[n]()

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert None not in results, "one of them raised"
    return results


@pytest.fixture
def due(live, store):
    """A thousand jobs that are due, and not promoted yet."""
    queue = Queue(live, "q", ready=store)
    queue.submit_many(New("t", id=f"j{n}", delay=1) for n in range(JOBS))
    live.clock.advance(1)
    assert levels(queue) == (JOBS, 0, 0, 0)
    return queue


def claimer(queue, name, limit):
    """Claim and ack until all is done, by a connection of its own; return the ids that were run."""

    def work():
        own, ran, done = Queue(queue.redis, "q", ready=queue.store), [], []
        while own.counts().totals.get("done", 0) + len(done) < JOBS:
            answers, claims = own.ack_and_claim(done, name, limit)
            assert set(answers) <= {"done"}
            ran += [(claim.id, claim.attempt, claim.token) for claim in claims]
            done = claims
        own.each("ack", done)
        return ran

    return work


@pytest.mark.parametrize(("claimers", "limit"), [(2, 1), (4, 7)])
def test_claimers_and_three_schedulers(due, claimers, limit):
    ticks = [Scheduler(Queue(due.redis, "q", ready=due.store)).tick for _ in range(3)]
    results = together(*ticks, *(claimer(due, f"w{n}", limit) for n in range(claimers)))
    ran = [run for result in results[3:] for run in result]
    assert Counter(id for id, _, _ in ran) == Counter(f"j{n}" for n in range(JOBS))
    assert {attempt for _, attempt, _ in ran} == {1}
    assert len({token for *_, token in ran}) == JOBS
    assert sum(tick.promoted for tick in results[:3]) == JOBS
    assert totals(due) == {"submitted": JOBS, "done": JOBS}
    check_copies(due)


def test_one_job_and_four_who_want_it(live, store):
    queue = Queue(live, "q", ready=store)
    for n in range(30):
        queue.submit("t", id=f"j{n}")
        claims = together(*[lambda name=name: queue.claim(name) for name in "abcd"])
        ((claim,),) = [claim for claim in claims if claim]
        queue.ack(claim)
    assert totals(queue) == {"submitted": 30, "done": 30}


def test_one_letter_and_four_who_requeue_or_purge_it(live, store):
    queue = Queue(live, "q", ready=store)
    for n in range(30):
        queue.submit("t", id="j")
        queue.fail(*queue.claim("w"), "x", permanent=True)
        acts = [lambda: queue.requeue("j")] * 2 + [lambda: queue.purge("j")] * 2
        requeued, again, *purged = together(*acts)
        winners = [requeued["j"], again["j"], *purged]
        assert [winner in {"requeued", 1} for winner in winners].count(True) == 1, (n, winners)
        check_copies(queue)
        queue.cancel("j") if 1 not in purged else None
        live.clock.advance(3601)
        queue.claim("w")
        live.clock.advance(3601)


def test_a_cancel_against_a_claim(live, store):
    queue = Queue(live, "q", ready=store)
    for n in range(50):
        queue.submit("t", id=f"j{n}")
        answer, claims = together(lambda n=n: queue.cancel(f"j{n}"), lambda: queue.claim("w"))
        assert (answer, len(claims)) in {("cancelled", 0), ("requested", 1)}
        queue.each("ack", claims)
    check_copies(queue)
