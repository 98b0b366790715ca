-- Cancel a job, whatever it is doing. One that runs is asked to stop: if it finishes all the
-- same, it is done.
--
-- KEYS[1] delayed  zset    job id -> when it is due (ms)
-- KEYS[2] totals   hash    what only ever grows
-- KEYS[3] job      prefix  of the job records
-- ARGV[1] id               job id
-- ARGV[2] retention_ms     how long its record is kept
-- returns 'cancelled', 'requested' (it runs), 'done', 'dead' (too late: nothing changed), 'missing'

local delayed, totals, job, id = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local record = job .. id

local f = read(record, 'task', 'state', 'entity', 'place')
if not f.task then return 'missing' end
if f.state == 'running' then
  redis.call('HSET', record, 'cancel', 1)
  return 'requested'
end
if f.state and f.state ~= 'waiting' then return f.state end

set_cancelled(totals, job, id, f, now(), ARGV[2])
if not f.state and redis.call('ZREM', delayed, id) == 0 then
  -- It is ready: its entry stays in the store until a claim skips it, and so must the record.
  -- Otherwise the id could be used anew meanwhile, and the old entry would run the new job early.
  redis.call('PERSIST', record)
end
return 'cancelled'
