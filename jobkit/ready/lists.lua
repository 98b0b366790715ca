-- The ready store of design B: a list per priority, 9 before 8 before ... before 0. Its document pops
-- from them and forgets; here what is popped gets a deadline in the same step.
--
-- STORE[1] leases  zset    job id -> when its lease ends (ms)  (1 and 2: see deadlines.lua, which stands before)
-- STORE[2] job     prefix  of the job records: they name the priority
-- STORE[3] ready   prefix  of the lists: ready:9 is served first
-- STORE[4] alone   list    jobs whose lease ran out: handed out before all others, one at a time
-- STORE[5] tokens  string  the last fencing token: it grows with each job that is handed out
--
-- `FAIR`: each FAIR-th job is taken by turns, from 9, from 8, ... or from the next list below that holds one;
-- so a list that holds jobs gets one in 10 * FAIR at least. 0: never.

local READY, ALONE, TOKENS, TOP = STORE[3], STORE[4], STORE[5], 9

local function list(priority) return READY .. ':' .. priority end

local ALL = {ALONE}
for priority = 0, TOP do ALL[#ALL + 1] = list(priority) end

local function priority_of(id) return redis.call('HGET', JOB .. id, 'priority') or 0 end

local function push(id, alone) redis.call('RPUSH', alone and ALONE or list(priority_of(id)), id) end

local function in_order(limit)
  local out = {}
  for priority = TOP, 0, -1 do
    for _, id in ipairs(redis.call('LPOP', list(priority), limit - #out) or {}) do out[#out + 1] = id end
    if #out == limit then break end
  end
  return out
end

local function by_turns(first) -- one job, of the list `first` or the next below, or else from the top
  for step = 0, TOP do
    local id = redis.call('LPOP', list((first - step) % (TOP + 1)))
    if id then return id end
  end
end

local function fairly(limit)
  local out, turn = {}, tonumber(redis.call('GET', TOKENS) or 0)
  for n = turn + 1, turn + limit do
    out[#out + 1] = by_turns(n % FAIR == 0 and TOP - n / FAIR % (TOP + 1) or TOP)
    if #out < n - turn then break end
  end
  return out
end

-- entry, id, entry, id, ...; a job that may have killed its worker comes alone
local function take(_, limit, lease_ms)
  if redis.call('EXISTS', unpack(ALL)) == 0 then return {} end
  local suspect = redis.call('LPOP', ALONE)
  if suspect then return hold({suspect}, lease_ms) end
  return hold(FAIR > 0 and fairly(limit) or in_order(limit), lease_ms)
end

local function sizes() -- how many are ready, how many are running
  local waiting = 0
  for _, key in ipairs(ALL) do waiting = waiting + redis.call('LLEN', key) end
  return waiting, redis.call('ZCARD', LEASES)
end

local function heads(n) -- the ids that will be taken first, of each line
  local out = {}
  for i, key in ipairs(ALL) do out[i] = redis.call('LRANGE', key, 0, n - 1) end
  return out
end

local function arrived(id) return stands_in(list(priority_of(id)), id) or stands_in(ALONE, id) end
