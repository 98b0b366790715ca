-- Give claimed jobs back unharmed: ready again, and the attempt is not charged.
--
-- KEYS[1] totals   hash     what only ever grows
-- KEYS[2] job      prefix   of the job records
-- KEYS[3] bell     channel  wakes the workers
-- ARGV[1] history           how many events of a job are kept
-- ARGV[2] retention_ms      how long the record of a cancelled job is kept
-- ARGV[3..] claims          two each: id, token
-- returns per claim 'ready', 'cancelled' (a cancel was requested); 'stale': nothing changed

local totals, job, bell = KEYS[1], KEYS[2], KEYS[3]
local t, answers, rung = now(), {}, false

for i = 3, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local record = job .. id
  local f = read(record, 'state', 'token', 'settled', 'entry', 'attempt', 'started', 'cancel', 'entity')
  local mine, answer = held(f, token, 'release')
  if mine then
    drop({f.entry})
    redis.call('HINCRBY', record, 'attempt', -1)
    if f.cancel then
      answer = 'cancelled'
      set_cancelled(totals, job, id, f, t, ARGV[2])
    else
      answer, rung = 'ready', true
      redis.call('HDEL', record, 'state')
      push(id)
      redis.call('HINCRBY', totals, 'released', 1)
    end
    redis.call('HSET', record, 'settled', token .. ' release ' .. answer)
    remember(record, ARGV[1], f.started, t, f.attempt, 'released', 0, '')
  end
  answers[#answers + 1] = answer
end

if rung then redis.call('PUBLISH', bell, 'ready') end
return answers
