-- Take new jobs: to the delayed set, or straight to the ready store if they are due.
-- A record that exists is the dedup mark: its job is not taken twice.
--
-- KEYS[1] delayed  zset     job id -> when it is due (ms)
-- KEYS[2] totals   hash     what only ever grows
-- KEYS[3] job      prefix   of the job records
-- KEYS[4] bell     channel  wakes the workers
-- ARGV[1] nonce             of this call; '' if all its ids are fresh and so say the same
-- ARGV[2..] jobs            eight each: id, when, task, args, max, priority, entity, lease
--                           when: '+ms' from now, or ms since the epoch; '' for no entity, and for the
--                           queue's own lease
-- returns per job           'created <state>' (also if this very call is sent again), or
--                           'exists <state>': scheduled, ready, running, done, dead or cancelled

local delayed, totals, job, bell = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local elsewhere = other_store()
if elsewhere then return elsewhere end

local nonce, t = ARGV[1], now()
local answers, created, ready, earliest = {}, 0, false, nil

local function state(id)
  local known = redis.call('HGET', job .. id, 'state')
  return known or (redis.call('ZSCORE', delayed, id) and 'scheduled' or 'ready')
end

local function create(id, when, task, args, max, priority, entity, lease)
  local at = string.sub(when, 1, 1) == '+' and t + string.sub(when, 2) or tonumber(when)
  redis.call('HSET', job .. id, 'task', task, 'args', args, 'created', t, 'run_at', at)
  if max ~= '5' then redis.call('HSET', job .. id, 'max', max) end -- a limit of 5 goes without saying
  if nonce ~= '' then redis.call('HSET', job .. id, 'nonce', nonce) end
  if priority ~= '0' then redis.call('HSET', job .. id, 'priority', priority) end
  if entity ~= '' then redis.call('HSET', job .. id, 'entity', entity) end
  if lease ~= '' then redis.call('HSET', job .. id, 'lease', lease) end
  created = created + 1
  if at <= t then
    push(id)
    ready = true
    return 'ready'
  end
  redis.call('ZADD', delayed, at, id)
  earliest = math.min(earliest or at, at)
  return 'scheduled'
end

for i = 2, #ARGV, 8 do
  local id = ARGV[i]
  if redis.call('EXISTS', job .. id) == 0 then
    answers[#answers + 1] = 'created ' .. create(unpack(ARGV, i, i + 7))
  elseif nonce == '' or redis.call('HGET', job .. id, 'nonce') == nonce then
    answers[#answers + 1] = 'created ' .. state(id)
  else
    answers[#answers + 1] = 'exists ' .. state(id)
  end
end

if created > 0 then
  redis.call('HINCRBY', totals, 'submitted', created)
  name_store()
end
local first = earliest and redis.call('ZRANGE', delayed, 0, 0, 'WITHSCORES')[2]
if ready or first and tonumber(first) >= earliest then redis.call('PUBLISH', bell, 'due') end
return answers
