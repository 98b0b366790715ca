-- Hand out ready jobs. Each gets an attempt, counted here so that a crash counts, too, and a
-- fencing token: only the newest token of a job is heard from now on.
--
-- KEYS[1] tokens  string  the last token of the queue: one counter, so that it outlives the records
-- KEYS[2] totals  hash    what only ever grows
-- KEYS[3] job     prefix  of the job records
-- KEYS[4] dead    zset    job id -> when it was buried (ms)
-- KEYS[5] lateness  hash  how late jobs start: `sum` (ms), and how many up to each bound (shared.lua)
-- ARGV[1] worker          who claims
-- ARGV[2] limit           how many at most
-- ARGV[3] history         how many events of a job are kept
-- ARGV[4] retention_ms    how long the record of a cancelled job is kept
-- ARGV[5] dead_max, ARGV[6] dead_ms  how many dead letters are kept, and how long
-- ARGV[7] lease_ms        how long the claim holds without a heartbeat, if the job does not say
-- ARGV[8..] ids           taken elsewhere, by a lesson's own `take`; none: the store's
-- returns {skipped, job, ...}   job: {id, token, attempt, task, args, max, created, run_at,
--                                    priority, entity, nonce, lease}; skipped: what is cancelled, gone,
--                                    or was handed out too often

local tokens, totals, job, lateness = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local worker, limit = ARGV[1], tonumber(ARGV[2])
local to = {dead = KEYS[4], totals = totals, job = job, history = ARGV[3], retention_ms = ARGV[4],
  dead_max = ARGV[5], dead_ms = ARGV[6]}

local elsewhere = other_store()
if elsewhere then return elsewhere end

local taken = {} -- entry, id, entry, id, ...
for i = 8, #ARGV do
  taken[#taken + 1] = ''
  taken[#taken + 1] = ARGV[i]
end
if #taken == 0 then taken = take(worker, limit, ARGV[7]) end
if #taken == 0 then return {0} end

local t, skipped, out = now(), {}, {0}
local token = redis.call('INCRBY', tokens, #taken / 2) - #taken / 2
local starts, late = {}, 0

-- Once for each time that a job is due. The last run of one that is due anew has ended; where it has not, the
-- worker died or gave the job back, and its start is counted already.
local function note_start(due, started, ended)
  if not due or started and tonumber(ended or -1) < tonumber(started) then return end
  local by = math.max(0, t - due)
  local bound = bucket(by)
  starts[bound], late = (starts[bound] or 0) + 1, late + by
end

for i = 1, #taken, 2 do
  local entry, id = taken[i], taken[i + 1]
  local record = job .. id
  local f = redis.call('HMGET', record, 'task', 'args', 'max', 'created', 'run_at', 'priority', 'entity',
    'nonce', 'attempt', 'state', 'token', 'lease', 'started', 'ended')
  local state, attempt = f[10], (f[9] or 0) + 1
  if state == 'running' and attempt > tonumber(f[3] or 5) then -- its group was lost, and reads it anew
    skipped[#skipped + 1] = entry
    take_back(id, read(record, 'attempt', 'max', 'started', 'cancel', 'entity'), t, to, 'handed out again, once too often')
  elseif f[1] and state ~= 'cancelled' and state ~= 'done' and state ~= 'dead' then
    token = token + 1
    if tonumber(f[11] or 0) >= token then -- the counter was lost: no token may come twice
      token = f[11] + 1
      redis.call('SET', tokens, token + #taken / 2)
    end
    redis.call('HSET', record, 'state', 'running', 'token', token, 'attempt', attempt, 'entry', entry,
      'started', t, 'worker', worker)
    note_start(due_at(f[5], f[4]), f[13], f[14])
    out[#out + 1] = {id, token, attempt, f[1], f[2], f[3] or 5, f[4], f[5], f[6], f[7], f[8], f[12]}
  else
    skipped[#skipped + 1] = entry
    if state == 'cancelled' then redis.call('PEXPIRE', record, to.retention_ms) end
  end
end

drop(skipped)
for bound, n in pairs(starts) do redis.call('HINCRBY', lateness, bound, n) end
if late > 0 then redis.call('HINCRBY', lateness, 'sum', late) end
out[1] = #skipped
return out
