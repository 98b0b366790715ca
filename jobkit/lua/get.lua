-- Read a job's record, with what its place says of its state.
--
-- KEYS[1] delayed  zset    job id -> when it is due (ms)
-- KEYS[2] job      prefix  of the job records
-- ARGV[1] id               job id
-- returns {place, field, value, ...}   place: 'scheduled' or 'ready', for a record without a state

local place = redis.call('ZSCORE', KEYS[1], ARGV[1]) and 'scheduled' or 'ready'
local record = redis.call('HGETALL', KEYS[2] .. ARGV[1])
table.insert(record, 1, place)
return record
