"""A job in every state that it can be in: the left column of the tables."""

from jobkit.job import Claim

LEASE = 30
RETENTION = 3600

ROWS = {
    "missing": "missing",
    "scheduled": "scheduled 0/5",
    "due": "scheduled 0/5",
    "ready": "ready 0/5",
    "promoted": "ready 0/5",
    "running": "running 1/5 #1 [running 1]",
    "last run": "running 1/1 #1 [running 1]",
    "late": "running 1/5 #1 [running 1]",
    "late, last run": "running 1/1 #1 [running 1]",
    "asked to stop": "running 1/5 #1 [running 1]",
    "late, asked to stop": "running 1/5 #1 [running 1]",
    "released": "ready 0/5 #1 [released 1]",
    "recovered": "ready 1/5 #1 [recovered 1]",
    "waiting for retry": "scheduled 1/5 #1 [retry 1]",
    "due for retry": "scheduled 1/5 #1 [retry 1]",
    "running again": "running 2/5 #2 [recovered 1, running 2]",
    "done": "done 1/5 #1 [done 1], expires",
    "dead": "dead 1/5 #1 [dead 1]",
    "requeued": "scheduled 0/5 #1 [dead 1, requeued 0]",
    "cancelled": "cancelled 0/5, expires",
    "cancelled while ready": "cancelled 0/5",
    "stopped": "cancelled 1/5 #1 [cancelled 1], expires",
    "submitted anew": "ready 0/5",
}
"""State of the job `j` -> the row that it has then. The claim that a seed returns is always the first
one, token 1: in "running again" it is a zombie's, and so in "submitted anew" (done, forgotten, and
its id used again)."""


def seed(queue, state):
    """Put the job `j` into a state; return its first claim, or a forged one where it was never claimed."""
    if state == "missing":
        return _forged()
    limit = 1 if "last run" in state else None
    delay = 60 if state in {"scheduled", "due", "promoted", "cancelled"} else 0
    queue.submit("task", {"n": 1}, id="j", delay=delay, max_attempts=limit)
    if state in {"due", "promoted"}:
        queue.redis.clock.advance(60)
    if state == "promoted":
        queue.promote()
    if "cancelled" in state:
        queue.cancel("j")
    if state in {"scheduled", "due", "ready", "promoted", "cancelled", "cancelled while ready"}:
        return _forged()
    (claim,) = queue.claim("w1")
    _after_the_claim(queue, state, claim)
    assert claim.token == 1
    return claim


def _after_the_claim(queue, state, claim):
    if state in {"asked to stop", "late, asked to stop", "stopped"}:
        queue.cancel("j")
    if state.startswith("late") or state in {"recovered", "running again"}:
        queue.redis.clock.advance(LEASE + 1)
    if state in {"recovered", "running again"}:
        queue.recover()
    if state == "running again":
        assert queue.claim("w2")[0].token == 2
    if state == "released":
        queue.release(claim)
    if state in {"waiting for retry", "due for retry", "stopped"}:
        queue.fail(claim, "boom", delay=60)
    if state == "due for retry":
        queue.redis.clock.advance(60)
    if state in {"dead", "requeued"}:
        queue.fail(claim, "boom", permanent=True)
    if state == "requeued":
        queue.requeue("j", over=0)
    if state in {"done", "submitted anew"}:
        queue.ack(claim)
    if state == "submitted anew":
        queue.redis.clock.advance(RETENTION + 1)
        queue.submit("task", {"n": 1}, id="j")


def _forged():
    return Claim("j", "task", b"", 1, 5, 0, 0, token=1, worker="w1")
