"""ZPOPMIN inside a script: there it can look at the score first."""

# the check says: Passed

POP = """
local t, moved = redis.call('TIME'), 0
local now = t[1] * 1000 + math.floor(t[2] / 1000)
while moved < tonumber(ARGV[1]) do
  local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
  if not first[1] or tonumber(first[2]) > now then break end
  redis.call('XADD', KEYS[2], '*', 'id', redis.call('ZPOPMIN', KEYS[1])[1])
  moved = moved + 1
end
return moved
"""


def claim_due(redis, delayed, ready, limit):
    return redis.eval(POP, 2, delayed, ready, limit)
