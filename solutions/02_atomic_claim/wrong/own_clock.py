"""Documents B and C: due by the caller's own clock."""

# the check says: by whose clock

import time

MOVE = """
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[2], 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
"""


def claim_due(redis, delayed, ready, limit):
    return redis.eval(MOVE, 2, delayed, ready, limit, int(time.time() * 1000))
