-- What several verbs need; the loader puts it before every verb, after the store and the lanes. `f`: what was
-- read of a record.

-- Is this token the newest claim of a running job? If not, the answer: what the same verb was told
-- before (its reply was lost, it asks again), or 'stale'.
local function held(fields, token, verb)
  if fields.state == 'running' and fields.token == token then return true end
  -- Only an ack makes a job done, so a done job with this token needs no further note of it.
  if fields.state == 'done' and fields.token == token then return false, verb == 'ack' and 'done' or 'stale' end
  local settled, by, answer = string.match(fields.settled or '', '^(%d+) (%a+) (%a+)$')
  return false, settled == token and by == verb and answer or 'stale'
end

local function read(record, ...)
  local values, fields = redis.call('HMGET', record, ...), {}
  for i, name in ipairs({...}) do fields[name] = values[i] end
  return fields
end

-- Append to a record's history, and forget all but the newest `keep`.
local function remember(record, keep, started, ended, attempt, outcome, delay, detail)
  local n = redis.call('HINCRBY', record, 'events', 1)
  local line = table.concat({started or ended, ended, attempt or 0, outcome, delay, detail}, ' ')
  redis.call('HSET', record, 'history:' .. n, line)
  if n > tonumber(keep) then redis.call('HDEL', record, 'history:' .. (n - keep)) end
end

-- Drop the oldest dead letters beyond a number and an age, at most `limit` of them.
local function prune(dead, totals, job, max, age_ms, limit)
  local excess = math.min(tonumber(limit), redis.call('ZCARD', dead) - max)
  local out = excess > 0 and redis.call('ZRANGE', dead, 0, excess - 1) or {}
  if #out == 0 then
    out = redis.call('ZRANGE', dead, '-inf', '(' .. (now() - age_ms), 'BYSCORE', 'LIMIT', 0, limit)
  end
  for _, id in ipairs(out) do
    redis.call('ZREM', dead, id)
    redis.call('DEL', job .. id)
  end
  if #out > 0 then redis.call('HINCRBY', totals, 'dropped', #out) end
  return #out
end

-- The last thing that is done to a record: burying one letter may drop it, or another, for good.
local function bury(dead, totals, job, id, f, at, max, age_ms)
  redis.call('HSET', job .. id, 'state', 'dead', 'ended', at)
  leave(id, f)
  redis.call('ZADD', dead, at, id)
  redis.call('HINCRBY', totals, 'dead', 1)
  prune(dead, totals, job, max, age_ms, 10)
end

local function set_cancelled(totals, job, id, f, at, retention_ms)
  redis.call('HSET', job .. id, 'state', 'cancelled', 'ended', at)
  redis.call('PEXPIRE', job .. id, retention_ms)
  leave(id, f)
  redis.call('HINCRBY', totals, 'cancelled', 1)
end

-- When a job was to start, in ms: a moment that had passed when it was submitted means then. nil: who knows.
local function due_at(run_at, created) return run_at and math.max(run_at, created or 0) end

-- How late jobs start, in ms: the upper bounds of the buckets in the hash `lateness`, then `more`.
local BOUNDS = {5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000, 30000, 60000, 600000, 3600000, 'more'}

local function bucket(late)
  local i = 1
  while BOUNDS[i + 1] and late > BOUNDS[i] do i = i + 1 end
  return BOUNDS[i]
end

-- A job whose worker is lost: ready again, but handed out alone, since it may have killed it; dead
-- if that was its last attempt; cancelled if that was asked for. `to`: the keys and limits.
local function take_back(id, f, at, to, why)
  local record, outcome = to.job .. id, 'recovered'
  if f.cancel then
    outcome = 'cancelled'
  elseif tonumber(f.attempt or 0) >= tonumber(f.max or 5) then
    outcome = 'dead'
  end
  remember(record, to.history, f.started, at, f.attempt, outcome, 0, why)
  if outcome == 'cancelled' then
    set_cancelled(to.totals, to.job, id, f, at, to.retention_ms)
  elseif outcome == 'dead' then
    bury(to.dead, to.totals, to.job, id, f, at, to.dead_max, to.dead_ms)
  else
    redis.call('HDEL', record, 'state')
    push(id, true)
    redis.call('HINCRBY', to.totals, 'recovered', 1)
  end
  return outcome
end

-- The state of a job by its record, or by its place where the record has none.
local function state_of(to, id)
  local known = redis.call('HGET', to.job .. id, 'state')
  return known or (redis.call('ZSCORE', to.delayed, id) and 'scheduled' or 'ready')
end

local made = {jobs = 0, ready = false, earliest = nil} -- by this script, for `announce`

local function create(to, nonce, id, when, task, args, max, priority, entity, lease)
  local record, t = to.job .. id, now()
  local at = string.sub(when, 1, 1) == '+' and t + string.sub(when, 2) or tonumber(when)
  redis.call('HSET', record, 'task', task, 'args', args, 'created', t, 'run_at', at)
  if max ~= '5' then redis.call('HSET', record, 'max', max) end -- a limit of 5 goes without saying
  if nonce ~= '' then redis.call('HSET', record, 'nonce', nonce) end
  if priority ~= '0' then redis.call('HSET', record, 'priority', priority) end
  if entity ~= '' then redis.call('HSET', record, 'entity', entity) end
  if lease ~= '' then redis.call('HSET', record, 'lease', lease) end
  made.jobs = made.jobs + 1
  if entity ~= '' and not enter(id, {entity = entity}) then return 'waiting' end
  if at <= t then
    push(id)
    made.ready = true
    return 'ready'
  end
  redis.call('ZADD', to.delayed, at, id)
  made.earliest = math.min(made.earliest or at, at)
  return 'scheduled'
end

-- Take a new job, unless its id is known: eight values, as submit.lua names them. Returns submit's answer.
-- `to` (here and below): the keys delayed, totals, job, bell. After the last job, call `announce`.
local function accept(to, nonce, id, ...)
  if redis.call('EXISTS', to.job .. id) == 0 then return 'created ' .. create(to, nonce, id, ...) end
  local again = nonce == '' or redis.call('HGET', to.job .. id, 'nonce') == nonce
  return (again and 'created ' or 'exists ') .. state_of(to, id)
end

-- Count what this script made, and ring once for all of it if anybody must look earlier than he would.
local function announce(to)
  if made.jobs > 0 then
    redis.call('HINCRBY', to.totals, 'submitted', made.jobs)
    name_store()
  end
  local first = made.earliest and redis.call('ZRANGE', to.delayed, 0, 0, 'WITHSCORES')[2]
  if made.ready or first and tonumber(first) >= made.earliest then redis.call('PUBLISH', to.bell, 'due') end
end
