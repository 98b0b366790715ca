-- Which schedules are due, as they stand, and how long until the next one is.
--
-- KEYS[1] schedules  zset    name -> when its next occurrence is due (ms); inf: paused, or in error
-- KEYS[2] schedule   prefix  of the schedules' records
-- ARGV[1] limit              how many at most
-- returns {now, wait, name, record, name, record, ...}   wait: ms until the next of those that are not
--                            due, -1 if there is none; record: {field, value, ...}, or {} if it was lost
--                            (such a schedule is set aside)

local schedules, schedule, t = KEYS[1], KEYS[2], now()
local first = redis.call('ZRANGE', schedules, '(' .. t, '(inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')
local out = {t, first[2] and first[2] - t or -1}

for _, name in ipairs(redis.call('ZRANGE', schedules, '-inf', t, 'BYSCORE', 'LIMIT', 0, ARGV[1])) do
  local record = redis.pcall('HGETALL', schedule .. name)
  if record.err or #record == 0 then
    redis.call('ZADD', schedules, '+inf', name)
    record = {}
  end
  out[#out + 1] = name
  out[#out + 1] = record
end
return out
