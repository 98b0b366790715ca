-- Settle finished runs: done. A job's record stays for a while, so that its id can't be used again.
--
-- KEYS[1] totals  hash    what only ever grows
-- KEYS[2] job     prefix  of the job records
-- ARGV[1] retention_ms    how long a record is kept after the end
-- ARGV[2..] claims        two each: id, token
-- returns per claim       'done' (also if this very call is sent again); 'stale': not yours any
--                         more, nothing changed

local totals, job = KEYS[1], KEYS[2]
local t, answers, entries = now(), {}, {}

for i = 2, #ARGV, 2 do
  local record, token = job .. ARGV[i], ARGV[i + 1]
  local f = redis.call('HMGET', record, 'state', 'token', 'entry')
  local mine, answer = held({state = f[1], token = f[2]}, token, 'ack')
  if mine then
    entries[#entries + 1] = f[3]
    redis.call('HSET', record, 'state', 'done', 'ended', t)
    redis.call('PEXPIRE', record, ARGV[1])
    answer = 'done'
  end
  answers[#answers + 1] = answer
end

drop(entries)
if #entries > 0 then redis.call('HINCRBY', totals, 'done', #entries) end
return answers
