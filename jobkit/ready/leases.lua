-- The ready store of design C: one list, and a visibility timeout for each job. What is claimed is
-- invisible until its deadline; then it comes back.
--
-- STORE[1] leases  zset    job id -> when its lease ends (ms)  (1 and 2: see deadlines.lua, which stands before)
-- STORE[2] job     prefix  of the job records
-- STORE[3] ready   list    ids of ready jobs, the oldest first
-- STORE[4] alone   list    the same, for jobs whose lease ran out: handed out one at a time

local READY, ALONE = STORE[3], STORE[4]

local function push(id, alone) redis.call('RPUSH', alone and ALONE or READY, id) end

-- entry, id, entry, id, ...; a job that may have killed its worker comes alone
local function take(_, limit, lease_ms)
  local suspect = redis.call('LPOP', ALONE)
  return hold(suspect and {suspect} or redis.call('LPOP', READY, limit) or {}, lease_ms)
end

local function sizes() -- how many are ready, how many are running
  return redis.call('LLEN', READY) + redis.call('LLEN', ALONE), redis.call('ZCARD', LEASES)
end

local function heads(n) -- the ids that will be taken first, of each line
  return {redis.call('LRANGE', ALONE, 0, n - 1), redis.call('LRANGE', READY, 0, n - 1)}
end

local function arrived(id) return stands_in(READY, id) or stands_in(ALONE, id) end
