"""Jobs of one entity: how they are submitted, read, and run to the end."""


def lane(queue, *ids, entity="ada", **how):
    """Submit jobs of one entity; return their states."""
    return [str(queue.submit("t", id=id, entity=entity, **how).state) for id in ids]


def states(queue, *ids):
    return " ".join(queue.get(id).state for id in ids)


def claimed(queue, limit=10):
    return [claim.id for claim in queue.claim("w", limit)]


def run_all(queue, most=200):
    """Claim and ack, to the end, as fast as time allows; return the ids in the order of their claims."""
    order = []
    for _ in range(most):
        wait = queue.promote().wait
        claims = queue.claim("w", 10)
        order += [claim.id for claim in claims]
        queue.each("ack", claims)
        if not claims and wait is None:
            return order
        if not claims:
            queue.redis.clock.advance(wait)
    raise AssertionError("it does not end")
