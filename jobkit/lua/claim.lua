-- Hand out ready jobs. Each gets an attempt, counted here so that a crash counts, too, and a
-- fencing token: only the newest token of a job is heard from now on.
--
-- KEYS[1] tokens  string  the last token of the queue: one counter, so that it outlives the records
-- KEYS[2] totals  hash    what only ever grows
-- KEYS[3] job     prefix  of the job records
-- ARGV[1] worker          who claims
-- ARGV[2] limit           how many at most
-- ARGV[3] retention_ms    how long the record of a cancelled job is kept
-- ARGV[4..] ids           taken elsewhere, by a lesson's own `take`; none: the store's
-- returns {now, skipped, job, ...}   job: {id, token, attempt, task, args, max, created, run_at,
--                                    priority, entity}; skipped: cancelled jobs and empty entries

local tokens, totals, job = KEYS[1], KEYS[2], KEYS[3]
local worker, limit, retention_ms = ARGV[1], tonumber(ARGV[2]), ARGV[3]

local taken = {} -- entry, id, entry, id, ...
for i = 4, #ARGV do
  taken[#taken + 1] = ''
  taken[#taken + 1] = ARGV[i]
end
if #taken == 0 then taken = take(worker, limit) end

local t, skipped = now(), {}
local out = {t, 0}
local token = #taken > 0 and redis.call('INCRBY', tokens, #taken / 2) - #taken / 2 or 0

for i = 1, #taken, 2 do
  local entry, id = taken[i], taken[i + 1]
  local record = job .. id
  local f = redis.call('HMGET', record, 'task', 'args', 'max', 'created', 'run_at', 'priority', 'entity',
    'attempt', 'state')
  local state = f[9]
  if f[1] and state ~= 'cancelled' and state ~= 'done' and state ~= 'dead' then
    local attempt = (f[8] or 0) + 1
    token = token + 1
    redis.call('HSET', record, 'state', 'running', 'token', token, 'attempt', attempt, 'entry', entry,
      'started', t, 'worker', worker)
    out[#out + 1] = {id, token, attempt, f[1], f[2], f[3] or 5, f[4], f[5], f[6], f[7]}
  else
    skipped[#skipped + 1] = entry
    if state == 'cancelled' then redis.call('PEXPIRE', record, retention_ms) end
  end
end

drop(skipped)
out[2] = #skipped
return out
