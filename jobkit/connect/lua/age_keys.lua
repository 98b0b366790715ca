-- Make some keys older: expiries come nearer, and the moments in job records move back.
-- Only `advance` on a server that the kit started calls it.
--
-- KEYS          keys of any type; one that would have expired by now is deleted
-- ARGV[1] dt    ms to grow older by
-- ARGV[2] mark  what a job record's name contains
-- ARGV[3] calendar  what the record of a recurring schedule contains: its slots are of the calendar, and
--                stay; instead, its calendar is moved on beside the server's clock
-- ARGV[4..]     a job record's fields that hold a moment (ms)
-- returns       the sorted sets and streams among them: name, type, name, type, ...
local dt, mark, calendar = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local others = {}

local function earlier(moment)
  return string.format('%.0f', tonumber(moment) - dt)
end

local function age_record(key)
  local moments = redis.call('HMGET', key, unpack(ARGV, 4))
  for i, moment in ipairs(moments) do
    if moment and tonumber(moment) then redis.call('HSET', key, ARGV[i + 3], earlier(moment)) end
  end
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.sub(name, 1, 8) == 'history:' then
      local first, second, rest = string.match(redis.call('HGET', key, name), '^(%d+) (%d+)(.*)$')
      if first then redis.call('HSET', key, name, earlier(first) .. ' ' .. earlier(second) .. rest) end
    end
  end
end

for _, key in ipairs(KEYS) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, left - dt) end -- 0 or less deletes it
  local kind = redis.call('TYPE', key).ok
  if kind == 'hash' and string.find(key, mark, 1, true) then
    age_record(key)
  elseif kind == 'hash' and string.find(key, calendar, 1, true) then
    redis.call('HINCRBY', key, 'ahead', dt)
  elseif kind == 'zset' or kind == 'stream' then
    others[#others + 1] = key
    others[#others + 1] = kind
  end
end
return others
