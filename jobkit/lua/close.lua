-- Close a shard that is empty, so that it can be resized: from now on no script puts a job into it.
--
-- KEYS[1] delayed  zset    job id -> when it is due (ms)
-- KEYS[2] waiting  zset    who waits behind another job of its entity
-- KEYS[3] dead     zset    job id -> when it was buried (ms)
-- ARGV[1] target         the kind of the shards that are to come
-- returns 'closed' (also if it is one of those already), or how many jobs and dead letters keep it open

local kind = redis.call('GET', KIND_KEY)
if kind == 'closed' or kind == ARGV[1] then return 'closed' end
if kind and kind ~= KIND then return redis.error_reply('WRONGSTORE ' .. kind) end

local ready, running = sizes()
local left = ready + running + redis.call('ZCARD', KEYS[1]) + redis.call('ZCARD', KEYS[2]) + redis.call('ZCARD', KEYS[3])
if left > 0 then return left end
redis.call('SET', KIND_KEY, 'closed')
return 'closed'
