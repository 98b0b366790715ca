"""ack, fail, refuse, extend, release: what each does to a job in each state, given the job's first claim."""

import pytest
from support.table import Change, check, complete

STALE = "StaleClaim"

ACK = complete(
    {
        "running": Change(None, "done 1/5 #1 [done 1], expires", ("done",)),
        "last run": Change(None, "done 1/1 #1 [done 1], expires", ("done",)),
        "late": Change(None, "done 1/5 #1 [done 1], expires", ("done",)),
        "late, last run": Change(None, "done 1/1 #1 [done 1], expires", ("done",)),
        "asked to stop": Change(None, "done 1/5 #1 [done 1], expires", ("done",)),
        "late, asked to stop": Change(None, "done 1/5 #1 [done 1], expires", ("done",)),
        "done": None,
    },
    otherwise=STALE,
)

FAIL = complete(
    {
        "running": Change("scheduled", "scheduled 1/5 #1 [retry 1]", ("retried",)),
        "late": Change("scheduled", "scheduled 1/5 #1 [retry 1]", ("retried",)),
        "last run": Change("dead", "dead 1/1 #1 [dead 1]", ("dead",)),
        "late, last run": Change("dead", "dead 1/1 #1 [dead 1]", ("dead",)),
        "asked to stop": Change("cancelled", "cancelled 1/5 #1 [cancelled 1], expires", ("cancelled",)),
        "late, asked to stop": Change("cancelled", "cancelled 1/5 #1 [cancelled 1], expires", ("cancelled",)),
        "waiting for retry": "scheduled",
        "due for retry": "scheduled",
        "dead": "dead",
        "requeued": "dead",
        "stopped": "cancelled",
    },
    otherwise=STALE,
)

FAIL_FOR_GOOD = complete(
    {
        "running": Change("dead", "dead 1/5 #1 [dead 1]", ("dead",)),
        "late": Change("dead", "dead 1/5 #1 [dead 1]", ("dead",)),
        "last run": Change("dead", "dead 1/1 #1 [dead 1]", ("dead",)),
        "late, last run": Change("dead", "dead 1/1 #1 [dead 1]", ("dead",)),
        "asked to stop": Change("cancelled", "cancelled 1/5 #1 [cancelled 1], expires", ("cancelled",)),
        "late, asked to stop": Change("cancelled", "cancelled 1/5 #1 [cancelled 1], expires", ("cancelled",)),
        "waiting for retry": "scheduled",
        "due for retry": "scheduled",
        "dead": "dead",
        "requeued": "dead",
        "stopped": "cancelled",
    },
    otherwise=STALE,
)

REFUSE = complete(
    {
        "running": Change("dead", "dead 0/5 #1 [dead 0]", ("dead",)),
        "late": Change("dead", "dead 0/5 #1 [dead 0]", ("dead",)),
        "last run": Change("dead", "dead 0/1 #1 [dead 0]", ("dead",)),
        "late, last run": Change("dead", "dead 0/1 #1 [dead 0]", ("dead",)),
        "asked to stop": Change("cancelled", "cancelled 0/5 #1 [cancelled 0], expires", ("cancelled",)),
        "late, asked to stop": Change("cancelled", "cancelled 0/5 #1 [cancelled 0], expires", ("cancelled",)),
        "waiting for retry": "scheduled",
        "due for retry": "scheduled",
        "dead": "dead",
        "requeued": "dead",
        "stopped": "cancelled",
    },
    otherwise=STALE,
)

EXTEND = complete(
    {
        "running": False,
        "last run": False,
        "late": False,
        "late, last run": False,
        "asked to stop": True,
        "late, asked to stop": True,
    },
    otherwise=STALE,
)

RELEASE = complete(
    {
        "running": Change("ready", "ready 0/5 #1 [released 1]", ("released",)),
        "last run": Change("ready", "ready 0/1 #1 [released 1]", ("released",)),
        "late": Change("ready", "ready 0/5 #1 [released 1]", ("released",)),
        "late, last run": Change("ready", "ready 0/1 #1 [released 1]", ("released",)),
        "asked to stop": Change("cancelled", "cancelled 0/5 #1 [released 1], expires", ("cancelled",)),
        "late, asked to stop": Change("cancelled", "cancelled 0/5 #1 [released 1], expires", ("cancelled",)),
        "released": "ready",
    },
    otherwise=STALE,
)


@pytest.mark.parametrize(("state", "expected"), ACK)
def test_ack(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.ack(claim), expected)


@pytest.mark.parametrize(("state", "expected"), FAIL)
def test_fail(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.fail(claim, "boom", delay=7), expected)


@pytest.mark.parametrize(("state", "expected"), FAIL_FOR_GOOD)
def test_fail_for_good(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.fail(claim, "boom", permanent=True), expected)


@pytest.mark.parametrize(("state", "expected"), REFUSE)
def test_refuse(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.refuse(claim, "unknown here"), expected)


@pytest.mark.parametrize(("state", "expected"), EXTEND)
def test_extend(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.extend(claim), expected)


@pytest.mark.parametrize(("state", "expected"), RELEASE)
def test_release(queue, state, expected):
    check(queue, state, lambda queue, claim: queue.release(claim), expected)
