"""Document C's loop: claimed atomically, handed over one by one."""

# the check says: in one place whoever dies

TAKE = """
local t = redis.call('TIME')
local due = redis.call('ZRANGE', KEYS[1], '-inf', t[1] * 1000 + math.floor(t[2] / 1000), 'BYSCORE', 'LIMIT', 0, ARGV[1])
for _, id in ipairs(due) do redis.call('ZREM', KEYS[1], id) end
return due
"""


def claim_due(redis, delayed, ready, limit):
    due = redis.eval(TAKE, 1, delayed, limit)
    for job in due:
        redis.xadd(ready, {"id": job})
    return len(due)
