-- Put back a job that no structure holds any more: its stream or set was deleted, or evicted.
-- Looks again before it acts: the caller's scan is older than this.
--
-- KEYS[1] delayed  zset     job id -> when it is due (ms)
-- KEYS[2] dead     zset     job id -> when it was buried (ms)
-- KEYS[3] totals   hash     what only ever grows
-- KEYS[4] job      prefix   of the job records
-- KEYS[5] bell     channel  wakes the workers
-- ARGV[1] id                job id
-- ARGV[2] seen              how far the caller read the store: later entries are looked through here
-- ARGV[3] history           how many events of a job are kept
-- ARGV[4] retention_ms      how long the record of a cancelled job is kept
-- ARGV[5] dead_max, ARGV[6] dead_ms  how many dead letters are kept, and how long
-- returns 'kept': it has its place after all; 'recovered'; 'dead': a letter, listed again, or it was
--                           its last attempt; 'cancelled': that was asked for, or its entry is gone and
--                           its record may go

local delayed, dead, totals, job, bell, id = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1]
local elsewhere = other_store()
if elsewhere then return elsewhere end

local record = job .. id
local f = read(record, 'task', 'state', 'entry', 'started', 'ended', 'attempt', 'max', 'cancel', 'run_at',
  'entity', 'place')
local running, t = f.state == 'running', now()

if not f.task or f.state == 'done' then return 'kept' end
if f.state == 'dead' then return redis.call('ZADD', dead, 'NX', f.ended, id) == 1 and 'dead' or 'kept' end
if f.state == 'waiting' then
  if stand(id, f) == 0 then return 'kept' end
  remember(record, ARGV[3], t, t, 0, 'recovered', 0, 'found in no structure')
  redis.call('HINCRBY', totals, 'recovered', 1)
  return 'recovered'
end
if running or not f.state then remember_head(id, f) end
if running and holds(f.entry, id) then return 'kept' end
if not running and (redis.call('ZSCORE', delayed, id) or arrived(id, ARGV[2])) then return 'kept' end
if f.state == 'cancelled' then
  redis.call('PEXPIRE', record, ARGV[4])
  return 'cancelled'
end

if not running and tonumber(f.run_at) > t then -- never before its time, not even after a loss
  remember(record, ARGV[3], t, t, 0, 'recovered', f.run_at - t, 'found in no structure')
  schedule(id, f.run_at)
  redis.call('HINCRBY', totals, 'recovered', 1)
  return 'recovered'
end

if not running then f.attempt = 0 end -- it waits for its next attempt: none of them was the last
local outcome = take_back(id, f, t, {dead = dead, totals = totals, job = job, history = ARGV[3],
  retention_ms = ARGV[4], dead_max = ARGV[5], dead_ms = ARGV[6]}, 'found in no structure')
redis.call('PUBLISH', bell, 'ready')
return outcome
