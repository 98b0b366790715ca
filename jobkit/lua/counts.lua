-- Count jobs per state, all at one instant, from the structures that hold them.
--
-- KEYS[1] delayed  zset  job id -> when it is due (ms)
-- KEYS[2] dead     zset  job id -> when it was buried (ms)
-- KEYS[3] totals   hash  what only ever grows
-- KEYS[4] waiting  zset  who waits behind another job of its entity
-- returns {scheduled, waiting, ready, running, dead, wait, field, total, ...}   wait: as promote's

local elsewhere = other_store()
if elsewhere then return elsewhere end

local ready, running = sizes()
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local out = redis.call('HGETALL', KEYS[3])
local levels = {
  redis.call('ZCARD', KEYS[1]), redis.call('ZCARD', KEYS[4]), ready, running, redis.call('ZCARD', KEYS[2]),
  first[2] and math.max(0, first[2] - now()) or -1,
}
for i = 6, 1, -1 do table.insert(out, 1, levels[i]) end
return out
