-- Write the whole record of a schedule, unless somebody did since the caller read it; or delete it.
--
-- KEYS[1] schedules  zset     name -> when its next occurrence is due (ms)
-- KEYS[2] schedule   prefix   of the schedules' records
-- KEYS[3] bell       channel  wakes the schedulers
-- ARGV[1] name                of the schedule
-- ARGV[2] seen                the record's version that the caller read; '': there was none
-- ARGV[3] version             the new one: a nonce of this call
-- ARGV[4] due                 when its next occurrence is due (ms), or inf
-- ARGV[5..] fields            field, value, ...; none: delete it, whatever is seen
-- returns 'written' (also if this very call is sent again); 'changed': somebody was quicker, nothing
--         changed

local schedules, name, record = KEYS[1], ARGV[1], KEYS[2] .. ARGV[1]
local version = redis.pcall('HGET', record, 'version')
if type(version) ~= 'string' then version = '' end -- no record, or no hash
if version == ARGV[3] then return 'written' end
if #ARGV == 4 then
  redis.call('DEL', record)
  redis.call('ZREM', schedules, name)
  return 'written'
end
if version ~= ARGV[2] then return 'changed' end

redis.call('DEL', record)
redis.call('HSET', record, 'version', ARGV[3], unpack(ARGV, 5))
redis.call('ZADD', schedules, ARGV[4], name)
redis.call('PUBLISH', KEYS[3], 'due')
return 'written'
