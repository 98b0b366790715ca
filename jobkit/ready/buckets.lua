-- Move what is due from the buckets of the minutes to the ready list, the oldest minute first: a job whose
-- minute has passed, since nobody looked in time or it came late, is found all the same.
-- It needs no ready store, so it runs alone, without the prelude that other scripts get.
--
-- KEYS[1] minutes  zset    the minutes that have a bucket, scored by their start (ms)
-- KEYS[2] bucket   prefix  of the buckets: job id -> when it is due (ms)
-- KEYS[3] ready    list    ids of ready jobs, the oldest first
-- ARGV[1] limit            how many at most
-- returns the ids that were moved

local minutes, bucket, ready = KEYS[1], KEYS[2], KEYS[3]
local time = redis.call('TIME')
local now, left, moved = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[1]), {}

for _, minute in ipairs(redis.call('ZRANGE', minutes, '-inf', now, 'BYSCORE', 'LIMIT', 0, 100)) do
  for _, id in ipairs(redis.call('ZRANGE', bucket .. minute, '-inf', now, 'BYSCORE', 'LIMIT', 0, left - #moved)) do
    redis.call('ZREM', bucket .. minute, id)
    redis.call('RPUSH', ready, id)
    moved[#moved + 1] = id
  end
  if redis.call('EXISTS', bucket .. minute) == 0 then redis.call('ZREM', minutes, minute) end
  if #moved >= left then break end
end
return moved
