-- Move what is due from the delayed set to the ready store, in one step: no other client sees a
-- job in both, or in neither. (The documents, see docs/design.md, call this the claim script. Here, `promote` is
-- due -> ready, and `claim` is ready -> running.)
--
-- KEYS[1] delayed  zset     job id -> when it is due (ms)
-- KEYS[2] bell     channel  wakes the workers
-- ARGV[1] limit             how many at most
-- returns {moved, wait}     wait: ms until the next job is due, -1 if none is waiting

if redis.call('EXISTS', KEYS[1]) == 0 then return {0, -1} end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local due = redis.call('ZRANGE', KEYS[1], '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
if #due > 0 and other_store() then return other_store() end -- opening.lua

for _, id in ipairs(due) do
  redis.call('ZREM', KEYS[1], id)
  push(id) -- the ready store's: XADD for streams, RPUSH for lists and leases
end

if #due > 0 then redis.call('PUBLISH', KEYS[2], 'ready') end
local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {#due, first[2] and math.max(0, first[2] - now) or -1}
