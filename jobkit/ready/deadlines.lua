-- What the stores of design B and C share: the running jobs, in a sorted set of deadlines by Redis TIME.
-- Whoever claims or extends sets the deadline, so whoever recovers need not know the lease.
--
-- STORE[1] leases  zset    job id -> when its lease ends (ms)
-- STORE[2] job     prefix  of the job records: one may name a lease of its own (ms)
--
-- An entry is the id of its job, which stands in the set once, whoever holds it.

local LEASES, JOB = STORE[1], STORE[2]
local DEEPEST = 100000

local function ends(id, lease_ms) return now() + (redis.call('HGET', JOB .. id, 'lease') or lease_ms) end

local function hold(ids, lease_ms) -- entry, id, entry, id, ...
  local out = {}
  for _, id in ipairs(ids) do
    redis.call('ZADD', LEASES, ends(id, lease_ms), id)
    out[#out + 1] = id
    out[#out + 1] = id
  end
  return out
end

local function drop(entries)
  if #entries > 0 then redis.call('ZREM', LEASES, unpack(entries)) end
end

-- A full server refuses a script whose first write takes memory: so what frees some stands first, here and below.
local function renew(_, entry, lease_ms)
  if redis.call('ZREM', LEASES, entry) == 1 then redis.call('ZADD', LEASES, ends(entry, lease_ms), entry) end
end

-- Takes leases that are over out of the set: entry, id, entry, id, ..., and 'more' if there may be others.
local function expired(_, limit)
  local out, late = {}, redis.call('ZRANGE', LEASES, '-inf', now(), 'BYSCORE', 'LIMIT', 0, limit)
  drop(late)
  for _, id in ipairs(late) do
    out[#out + 1] = id
    out[#out + 1] = id
  end
  return out, #late == limit and 'more' or ''
end

local function holds(entry, id) return entry == id and redis.call('ZSCORE', LEASES, id) end

-- Is a job in a list? Looks through the newest 100,000; where there are more, the answer is a careful yes.
local function stands_in(list, id)
  return redis.call('LPOS', list, id, 'RANK', -1, 'MAXLEN', DEEPEST) or redis.call('LLEN', list) > DEEPEST
end

local function reap() return 0 end -- no name of a worker is kept
