-- Settle finished runs: done. A job's record stays for a while, so that its id can't be used again.
--
-- KEYS[1] totals  hash    what only ever grows
-- KEYS[2] job     prefix  of the job records
-- ARGV[1] retention_ms    how long a record is kept after the end
-- ARGV[2..] claims        two each: id, token
-- returns per claim       'done' (also if this very call is sent again); 'stale': not yours any
--                         more, nothing changed

local totals, job = KEYS[1], KEYS[2]
local t, answers, entries, mine = now(), {}, {}, {}

for i = 2, #ARGV, 2 do
  local record = job .. ARGV[i]
  local f = redis.call('HMGET', record, 'state', 'token', 'entry', 'entity')
  local yes, answer = held({state = f[1], token = f[2]}, ARGV[i + 1], 'ack')
  if yes and not mine[record] then
    entries[#entries + 1], mine[record] = f[3], true
    mine[#mine + 1] = {id = ARGV[i], entity = f[4]}
  end
  answers[#answers + 1] = yes and 'done' or answer
end

drop(entries) -- first: it frees memory, and after it a full server accepts the rest, too
for _, f in ipairs(mine) do
  redis.call('HSET', job .. f.id, 'state', 'done', 'ended', t)
  redis.call('PEXPIRE', job .. f.id, ARGV[1])
  leave(f.id, f)
end
if #mine > 0 then redis.call('HINCRBY', totals, 'done', #mine) end
return answers
