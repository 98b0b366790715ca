"""Faults in the Lua of the stores that keep deadlines, as `faults` has them for the verbs and for streams."""

from support.faults import FAULTS, LEASE, LOST, TWICE, Fault

DEADLINES = "ready/deadlines.lua"

STORE_FAULTS = {
    "a claim sets no deadline": Fault(
        DEADLINES,
        "redis.call('ZADD', LEASES, ends(id, lease_ms), id)",
        "",
        "claim, ack",
        "tick",
        "ready",
        LOST,
        "lists",
    ),
    "ack leaves the deadline": Fault(
        DEADLINES, "redis.call('ZREM', LEASES, unpack(entries))", "", "ack", "ack", "running", TWICE, "leases"
    ),
    "a heartbeat sets the deadline that there was": Fault(
        DEADLINES,
        "LEASES, ends(entry, lease_ms), entry",
        "LEASES, now(), entry",
        "extend",
        "cancel",
        "running",
        LEASE,
        "leases",
    ),
    "recover takes deadlines that are to come": Fault(
        DEADLINES,
        "'-inf', now(), 'BYSCORE'",
        "'-inf', '+inf', 'BYSCORE'",
        "claim, ack",
        "tick",
        "ready",
        LEASE,
        "lists",
    ),
    "no deadline is ever over": Fault(
        DEADLINES, "'-inf', now(), 'BYSCORE'", "'-inf', 0, 'BYSCORE'", "ack", "recover", "late", LOST, "leases"
    ),
    "repair does not see who holds a job": Fault(
        DEADLINES, "return entry == id and", "return false and", "ack", "repair", "running", LEASE, "leases"
    ),
    "repair does not see what came in": Fault(
        DEADLINES,
        "return redis.call('LPOS', list, id, 'RANK', -1, 'MAXLEN', DEEPEST) or",
        "return",
        "repair",
        "repair",
        "in no structure",
        TWICE,
        "lists",
    ),
    "a priority that nobody serves": Fault(
        "ready/lists.lua",
        "ALONE or list(priority_of(id))",
        "ALONE or list(TOP + 1)",
        "promote",
        "promote",
        "due",
        LOST,
        "lists",
    ),
    "lists are read and not popped": Fault(
        "ready/lists.lua",
        "'LPOP', list(priority), limit - #out)",
        "'LRANGE', list(priority), 0, limit - #out - 1)",
        "claim, ack",
        "claim, ack",
        "ready",
        TWICE,
        "lists",
    ),
    "the list is read and not popped": Fault(
        "ready/leases.lua",
        "redis.call('LPOP', READY, limit)",
        "redis.call('LRANGE', READY, 0, limit - 1)",
        "claim, ack",
        "claim, ack",
        "ready",
        TWICE,
        "leases",
    ),
    "what was taken back is read and not popped": Fault(
        "ready/leases.lua",
        "redis.call('LPOP', ALONE)",
        "redis.call('LINDEX', ALONE, 0)",
        "recover",
        "a worker's step",
        "late",
        TWICE,
        "leases",
    ),
}
ALL_FAULTS = FAULTS | STORE_FAULTS
