"""Faults in the Lua files that an exploration must find: where they are, who must meet, and what breaks.

Each line is the kind of slip that a review may pass: a comparison, a removal or a note left out.
"""

from typing import NamedTuple


class Fault(NamedTuple):
    """A piece of a file replaced; two operations in a set-up that must find it; the promise that then breaks."""

    file: str
    before: str
    after: str
    first: str
    second: str
    setup: str
    promise: str
    store: str = "streams"


STALE = "no stale token has an effect"
LEASE = "a lease holds"
TWICE = "no job stands twice"
LOST = "no job is lost"
CANCEL = "none runs after its cancel"
ATTEMPTS = "attempts are counted and bounded"
AGAIN = "a call sent again gets its answer"
EFFECT = "no effect comes twice"
BOOKS = "the books balance"
EARLY = "none runs before its time"
RECORD = "a record stays as long as it is needed"

FLAG = "if f.cancel then\n    outcome = 'cancelled'\n  elseif"
RUNNING = (
    "if f.state == 'running' then\n  redis.call('HSET', record, 'cancel', 1)\n  return 'requested'\nend\nif f.state and"
)

FAULTS = {
    "ack does not look at the token": Fault(
        "lua/ack.lua", "if yes and not", "if not", "ack", "ack", "taken over by B", STALE
    ),
    "fail does not look at the token": Fault(
        "lua/fail.lua", "if not mine then return answer end", "", "fail", "extend", "taken over by B", STALE
    ),
    "extend does not look at the token": Fault(
        "lua/extend.lua", "if held(f, ARGV[i + 1]) then", "if true then", "ack", "extend", "taken over by A", STALE
    ),
    "release does not look at the token": Fault(
        "lua/release.lua", "if mine then", "if true then", "release", "release", "taken over by B", STALE
    ),
    "once does not look at the token": Fault(
        "lua/once.lua", "or now[2] ~= token", "", "once, ack", "once, ack", "taken over by B", STALE
    ),
    "the state is compared, the token is not": Fault(
        "lua/shared.lua", "'running' and fields.token == token", "'running'", "ack", "fail", "taken over by B", STALE
    ),
    "another verb gets this verb's answer": Fault(
        "lua/shared.lua",
        "settled == token and by == verb and",
        "settled == token and",
        "fail",
        "release",
        "running",
        STALE,
    ),
    "a done job answers done to whoever asks": Fault(
        "lua/shared.lua", "verb == 'ack' and 'done' or 'stale'", "'ready'", "ack", "release", "running", STALE
    ),
    "promote leaves the job in the delayed set": Fault(
        "lua/promote.lua", "redis.call('ZREM', KEYS[1], id)", "", "promote", "promote", "due", TWICE
    ),
    "promote forgets to push": Fault("lua/promote.lua", "push(id) --", "--", "promote", "promote", "due", LOST),
    "claim does not count the attempt": Fault(
        "lua/claim.lua", "(f[9] or 0) + 1", "(f[9] or 1)", "claim, ack", "tick", "late", ATTEMPTS
    ),
    "claim hands out what was cancelled": Fault(
        "lua/claim.lua", "state ~= 'cancelled' and", "", "claim, ack", "cancel", "ready", CANCEL
    ),
    "fail leaves its entry": Fault("lua/fail.lua", "drop({f.entry})", "", "fail", "fail", "running", TWICE),
    "fail forgets to schedule": Fault(
        "lua/fail.lua", "schedule(id, t + delay_ms)", "", "fail", "fail", "running", LOST
    ),
    "fail does not note its answer": Fault(
        "lua/fail.lua", "'settled', token .. ' fail ' .. answer", "'settled', ''", "fail", "extend", "running", AGAIN
    ),
    "fail tries once too often": Fault(
        "lua/fail.lua",
        ">= tonumber(f.max or 5)",
        "> tonumber(f.max or 5)",
        "fail",
        "fail",
        "running, last run",
        ATTEMPTS,
    ),
    "fail does not see the cancel": Fault(
        "lua/fail.lua", "f.cancel and 'cancelled' or", "", "fail", "cancel", "running", CANCEL
    ),
    "ack does not delete its entry": Fault(
        "ready/streams.lua",
        "redis.call('XDEL', STREAMS[letter], unpack(ids[letter]))",
        "",
        "ack",
        "ack",
        "running",
        TWICE,
    ),
    "ack does not acknowledge its entry": Fault(
        "ready/streams.lua",
        "redis.pcall('XACK', STREAMS[letter], GROUP, unpack(ids[letter]))",
        "",
        "ack",
        "ack",
        "running",
        BOOKS,
    ),
    "ack does not know its own answer again": Fault(
        "lua/shared.lua",
        "return false, verb == 'ack' and 'done' or 'stale'",
        "return false, 'stale'",
        "ack",
        "extend",
        "running",
        AGAIN,
    ),
    "ack is not counted": Fault(
        "lua/ack.lua", "redis.call('HINCRBY', totals, 'done', #mine)", "", "ack", "ack", "running", BOOKS
    ),
    "recover takes leases that run": Fault(
        "ready/streams.lua", "'recover', lease_ms, start", "'recover', 0, start", "claim, ack", "tick", "ready", LEASE
    ),
    "recover leaves the old entry": Fault("lua/recover.lua", "drop(entries)", "", "recover", "recover", "late", TWICE),
    "what is taken back goes nowhere": Fault(
        "lua/shared.lua", "push(id, true)", "", "recover", "recover", "late", LOST
    ),
    "what is taken back has no last attempt": Fault(
        "lua/shared.lua",
        ">= tonumber(f.max or 5) then",
        "> 99 then",
        "recover",
        "recover",
        "late, last run",
        ATTEMPTS,
    ),
    "what is taken back forgets its cancel": Fault(
        "lua/shared.lua", FLAG, "if", "recover", "recover", "late, asked to stop", CANCEL
    ),
    "submit does not look whether the job is there": Fault(
        "lua/shared.lua", "redis.call('EXISTS', to.job .. id) == 0", "true", "submit", "submit", "nothing", TWICE
    ),
    "submit does not know its own call again": Fault(
        "lua/shared.lua",
        "redis.call('HGET', to.job .. id, 'nonce') == nonce",
        "false",
        "submit",
        "submit",
        "nothing",
        AGAIN,
    ),
    "submit is not counted": Fault("lua/submit.lua", "announce(to)\n", "\n", "submit", "submit", "nothing", BOOKS),
    "cancel ends a job that runs": Fault(
        "lua/cancel.lua", RUNNING, "if f.state and f.state ~= 'running' and", "cancel", "ack", "running", LEASE
    ),
    "cancel leaves the job in the delayed set": Fault(
        "lua/cancel.lua",
        "if not f.state and redis.call('ZREM', delayed, id) == 0 then",
        "do",
        "cancel",
        "promote",
        "due",
        TWICE,
    ),
    "cancel of a job that runs is not noted": Fault(
        "lua/cancel.lua", "redis.call('HSET', record, 'cancel', 1)", "", "cancel", "release", "running", CANCEL
    ),
    "requeue leaves the letter": Fault(
        "lua/requeue.lua", "redis.call('ZREM', dead, id)\n", "\n", "requeue", "purge", "dead", TWICE
    ),
    "requeue keeps the old attempts": Fault(
        "lua/requeue.lua", "'state', 'attempt', 'cancel'", "'state', 'cancel'", "requeue", "requeue", "dead", ATTEMPTS
    ),
    "requeue does not know its own call again": Fault(
        "lua/requeue.lua", "elseif f.replay == ARGV[1] then", "elseif false then", "requeue", "requeue", "dead", AGAIN
    ),
    "release is charged": Fault(
        "lua/release.lua", "redis.call('HINCRBY', record, 'attempt', -1)", "", "release", "extend", "running", ATTEMPTS
    ),
    "release does not note its answer": Fault(
        "lua/release.lua",
        "'settled', token .. ' release ' .. answer",
        "'settled', ''",
        "release",
        "release",
        "running",
        AGAIN,
    ),
    "extend says yes and renews nothing": Fault(
        "lua/extend.lua", "renew(ARGV[1], f.entry, ARGV[2])", "", "extend", "cancel", "running", LEASE
    ),
    "once applies and does not mark": Fault(
        "lua/once.lua", "redis.call('HSET', record, mark, token)", "", "claim, once, ack", "recover", "ready", EFFECT
    ),
    "purge takes 0 for no (in Lua it is true)": Fault(
        "lua/purge.lua",
        "if redis.call('ZREM', dead, ARGV[i]) == 1 then",
        "if redis.call('ZREM', dead, ARGV[i]) then",
        "requeue",
        "purge",
        "dead",
        LOST,
    ),
    "two repairs put the same job back": Fault(
        "lua/adopt.lua", " or arrived(id, ARGV[2]))", ")", "repair", "repair", "in no structure", TWICE
    ),
    "repair takes a job that runs": Fault(
        "lua/adopt.lua",
        "if running and holds(f.entry, id) then return 'kept' end",
        "",
        "ack",
        "repair",
        "running",
        LEASE,
    ),
    "promote takes all, due or not": Fault(
        "lua/promote.lua",
        "'-inf', now, 'BYSCORE'",
        "'-inf', '+inf', 'BYSCORE'",
        "submit, delayed",
        "promote",
        "nothing",
        EARLY,
    ),
    "fail does not set the new time": Fault(
        "lua/fail.lua", "'run_at', t + delay_ms, 'ended', t", "'ended', t", "fail", "release", "running", EARLY
    ),
    "the record of a cancelled job goes before its entry": Fault(
        "lua/cancel.lua", "redis.call('PERSIST', record)", "", "claim, ack", "cancel", "ready", RECORD
    ),
    "the record of a done job is kept for ever": Fault(
        "lua/ack.lua", "redis.call('PEXPIRE', job .. f.id, ARGV[1])", "", "ack", "ack", "running", RECORD
    ),
    "the claim that skips a cancelled job keeps its record": Fault(
        "lua/claim.lua", "redis.call('PEXPIRE', record, to.retention_ms)", "", "claim, ack", "cancel", "ready", RECORD
    ),
    "promote strikes off, then pushes": Fault("", "", "", "promote in pieces", "promote in pieces", "due", LOST),
    "recover looks, then acts": Fault("", "", "", "ack", "recover in pieces", "late", BOOKS),
}
"""The last two change no file: they stand for scripts that are none. Those of the other stores: `store_faults`."""
