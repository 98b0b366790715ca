-- Settle a failed run: wait and try again, or, at the limit, to the dead letters. One step: a
-- crash leaves the job running (and its lease ends) or settled, never in between.
--
-- KEYS[1] dead     zset     job id -> when it was buried (ms)
-- KEYS[2] totals   hash     what only ever grows
-- KEYS[3] job      prefix   of the job records
-- ARGV[1] id                job id
-- ARGV[2] token             the claim's fencing token
-- ARGV[3] delay_ms          how long to wait; -1: no retry can help; -2: nor was it a run at all
-- ARGV[4] error             what went wrong: opaque, kept in the history
-- ARGV[5] history           how many events of a job are kept
-- ARGV[6] retention_ms      how long the record of a cancelled job is kept
-- ARGV[7] dead_max, ARGV[8] dead_ms  how many dead letters are kept, and how long
-- (now: opening.lua; held, read, remember, bury, set_cancelled: shared.lua; schedule: lanes.lua; drop: the store's)
-- returns 'retry', 'dead', 'cancelled' (a cancel was requested); 'stale': nothing changed

local dead, totals, job = KEYS[1], KEYS[2], KEYS[3]
local id, token, delay_ms = ARGV[1], ARGV[2], tonumber(ARGV[3])
local record, t = job .. id, now()

local f = read(record, 'state', 'token', 'settled', 'entry', 'attempt', 'max', 'started', 'cancel', 'entity')
local mine, answer = held(f, token, 'fail')
if not mine then return answer end

local last = delay_ms < 0 or tonumber(f.attempt) >= tonumber(f.max or 5)
answer = f.cancel and 'cancelled' or last and 'dead' or 'retry'
drop({f.entry})
if delay_ms == -2 then
  redis.call('HINCRBY', record, 'attempt', -1)
  f.attempt = 0
end
redis.call('HSET', record, 'settled', token .. ' fail ' .. answer)
remember(record, ARGV[5], f.started, t, f.attempt, answer, answer == 'retry' and delay_ms or 0, ARGV[4])

if answer == 'cancelled' then
  set_cancelled(totals, job, id, f, t, ARGV[6])
elseif answer == 'dead' then
  bury(dead, totals, job, id, f, t, ARGV[7], ARGV[8])
else
  redis.call('HDEL', record, 'state')
  redis.call('HSET', record, 'run_at', t + delay_ms, 'ended', t)
  schedule(id, t + delay_ms)
  redis.call('HINCRBY', totals, 'retried', 1)
end
return answer
