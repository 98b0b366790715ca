-- Put a job back that no structure holds any more: its stream was deleted, or evicted. Looks
-- again before it acts: the caller's scan is older than this.
--
-- KEYS[1] delayed  zset     job id -> when it is due (ms)
-- KEYS[2] totals   hash     what only ever grows
-- KEYS[3] job      prefix   of the job records
-- KEYS[4] bell     channel  wakes the workers
-- ARGV[1] id                job id
-- ARGV[2] seen              how far the caller read the store: later entries are looked through here
-- ARGV[3] history           how many events of a job are kept
-- ARGV[4] retention_ms      how long the record of a cancelled job is kept
-- returns 'adopted'; 'kept': it has its place after all; 'cancelled': its entry is gone, its record may go

local delayed, totals, job, bell, id = KEYS[1], KEYS[2], KEYS[3], KEYS[4], ARGV[1]
local record, t = job .. id, now()
local f = read(record, 'task', 'state', 'entry', 'started', 'attempt')

if not f.task or f.state == 'done' or f.state == 'dead' then return 'kept' end
if f.state == 'running' and holds(f.entry) then return 'kept' end
if f.state ~= 'running' and (redis.call('ZSCORE', delayed, id) or arrived(id, ARGV[2])) then return 'kept' end
if f.state == 'cancelled' then
  redis.call('PEXPIRE', record, ARGV[4])
  return 'cancelled'
end

redis.call('HDEL', record, 'state')
push(id, true)
redis.call('HINCRBY', totals, 'recovered', 1)
remember(record, ARGV[3], f.started, t, f.attempt, 'adopted', 0, 'found in no structure')
redis.call('PUBLISH', bell, 'ready')
return 'adopted'
