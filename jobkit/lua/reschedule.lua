-- Write the whole record of a schedule, unless somebody did since the caller read it; or delete it.
--
-- KEYS[1] schedules  zset     name -> when its next occurrence is due (ms)
-- KEYS[2] schedule   prefix   of the schedules' records
-- KEYS[3] bell       channel  wakes the schedulers
-- ARGV[1] name                of the schedule
-- ARGV[2] seen                the record's version that the caller read; '': there was none
-- ARGV[3] version             the new one: a nonce of this call
-- ARGV[4] due                 when its next occurrence is due (ms), or inf
-- ARGV[5..] fields            field, value, ...; none: delete it
-- returns 'written' (also if this very call is sent again); 'changed': somebody was quicker, nothing
--         changed

local schedules, name, record = KEYS[1], ARGV[1], KEYS[2] .. ARGV[1]
local version = redis.pcall('HGET', record, 'version')
if type(version) ~= 'string' then version = '' end -- no record, or no hash
local delete = #ARGV == 4
-- A deletion that is sent again finds nothing, or what somebody has put there since: it must not go.
if version == ARGV[3] or delete and not redis.call('ZSCORE', schedules, name) then return 'written' end
if version ~= ARGV[2] then return 'changed' end

redis.call('DEL', record)
if delete then
  redis.call('ZREM', schedules, name)
  return 'written'
end
redis.call('HSET', record, 'version', ARGV[3], unpack(ARGV, 5))
redis.call('ZADD', schedules, ARGV[4], name)
redis.call('PUBLISH', KEYS[3], 'due')
return 'written'
