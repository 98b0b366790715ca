"""Exercise 02: the atomic claim.

Two schedulers run at once, on machines whose clocks differ, and each may die between any two of its commands.
Notebook 02 has the story, and the check.
"""

### BEGIN SOLUTION
CLAIM = """
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
"""
### END SOLUTION


def claim_due(redis, delayed, ready, limit):
    """Move what is due from a sorted set to a stream; return how many were moved.

    redis     a redis.Redis, as jk.connect() makes it
    delayed   the key of a sorted set: a job's id -> when it is due, in ms
    ready     the key of a stream; each job becomes one entry with one field, `id`
    limit     how many at most; the earliest come first

    A job is due if its score is up to now, by the clock of the server.

    What must hold, whatever order the commands of two callers take:
      - a due job is handed over once
      - a caller who dies after any of its commands leaves each job in one place, the set or the stream

    The goal: at most 2 commands a call, however many jobs are due. (A script that the server does not
    know yet may cost one or two more, the first time.)
    """
    ### BEGIN SOLUTION
    return redis.eval(CLAIM, 2, delayed, ready, limit)
    ### END SOLUTION
