"""A script, and its limit forgotten."""

# the check says: limit 2

MOVE = """
local due = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[2], 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  redis.call('XADD', KEYS[2], '*', 'id', id)
end
return #due
"""


def server_now(redis):
    seconds, micros = redis.time()
    return seconds * 1000 + micros // 1000


def claim_due(redis, delayed, ready, limit):
    del limit
    return redis.eval(MOVE, 2, delayed, ready, 1000, server_now(redis))
