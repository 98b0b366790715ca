"""A script for each job: right, and too many journeys."""

# the check says: commands for nine

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
    now, moved = server_now(redis), 0
    while moved < limit and redis.eval(MOVE, 2, delayed, ready, 1, now):
        moved += 1
    return moved
