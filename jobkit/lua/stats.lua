-- Since when the oldest jobs wait, and how late jobs started so far.
--
-- KEYS[1] delayed   zset    job id -> when it is due (ms)
-- KEYS[2] dead      zset    job id -> when it was buried (ms)
-- KEYS[3] lateness  hash    how late jobs start: `sum` (ms), and how many up to each bound (shared.lua)
-- KEYS[4] job       prefix  of the job records
-- returns {now, overdue, ready, dead, sum, bound, n, bound, n, ...}
--                           overdue: ms since the first of the delayed set was due; ready: since the
--                           first of the ready store was; dead: since the oldest letter was buried;
--                           -1 for none. n jobs started late by up to bound ms, beyond those before

local elsewhere = other_store()
if elsewhere then return elsewhere end

local t, DEEP = now(), 100

local function age(zset)
  local first = redis.call('ZRANGE', zset, 0, 0, 'WITHSCORES')[2]
  return first and t - first or -1
end

local function waiting(id) -- nil: it was cancelled, or its record is gone, and a claim will skip it
  local f = read(KEYS[4] .. id, 'run_at', 'created', 'state')
  return not f.state and f.run_at and t - due_at(f.run_at, f.created) or nil
end

local oldest = -1 -- at the head of a line stands its oldest, but for what came back into it
for _, line in ipairs(heads(DEEP)) do
  for _, id in ipairs(line) do
    local ms = waiting(id)
    if ms then
      oldest = math.max(oldest, ms)
      break
    end
  end
end

local found = read(KEYS[3], 'sum', unpack(BOUNDS))
local out = {t, math.max(-1, age(KEYS[1])), oldest, age(KEYS[2]), tonumber(found.sum or 0)}
for _, bound in ipairs(BOUNDS) do
  out[#out + 1] = bound
  out[#out + 1] = tonumber(found[bound] or 0)
end
return out
