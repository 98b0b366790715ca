-- Where a job goes that has not ended and does not run: it waits for its time, for a worker, or behind
-- another job of its entity. Jobs of one entity run one at a time, in the order in which they came. They
-- stand in its lane, and only the first of them, its head, is scheduled, ready or running.
--
-- LANE[1] delayed  zset     job id -> when it is due (ms)
-- LANE[2] bell     channel  wakes the workers
-- LANE[3] job      prefix   of the job records
-- LANE[4] lanes    hash     entity -> the id of its head
-- LANE[5] waiting  zset     who waits behind a head: '<bytes>:<entity>:<place>:<id>', all scored 0, so that a
--                           lane is a range of members, and its first the next one
--
-- A job that waits has the state 'waiting', and its place in the record. `f`: what was read of a record.

local DELAYED, BELL, RECORD, LANES, WAITING = LANE[1], LANE[2], LANE[3], LANE[4], LANE[5]

-- Set a job's time; a sleeper must know if no other job is due before it.
local function schedule(id, at)
  redis.call('ZADD', DELAYED, at, id)
  if redis.call('ZRANGE', DELAYED, 0, 0)[1] == id then redis.call('PUBLISH', BELL, 'due') end
end

-- The bytes stand first: no entity's lane begins as another's does.
local function lane(entity) return #entity .. ':' .. entity .. ':' end

-- Returns 1 if the job did not stand in its lane yet.
local function stand(id, f) return redis.call('ZADD', WAITING, 0, lane(f.entity) .. f.place .. ':' .. id) end

local function last_place(entity)
  local before = lane(entity)
  local last = redis.call('ZRANGE', WAITING, '(' .. #entity .. ':' .. entity .. ';', '[' .. before, 'BYLEX', 'REV',
    'LIMIT', 0, 1)[1]
  return last and tonumber(string.sub(last, #before + 1, #before + 16))
end

-- A job comes to its lane, whose record is written. Returns whether it is the head: its caller sets it going.
-- Its place is Redis TIME in us, or the next after the last one's: so the lane needs no counter, which could be lost.
local function enter(id, f)
  local last = f.entity and last_place(f.entity)
  if not f.entity or not last and redis.call('HSETNX', LANES, f.entity, id) == 1 then return true end
  f.place = string.format('%016.0f', math.max(now() * 1000, (last or 0) + 1))
  stand(id, f)
  redis.call('HSET', RECORD .. id, 'state', 'waiting', 'place', f.place)
  return false
end

-- After a loss: make a job the head that must be one, since it does not wait, if nobody knows of another.
local function remember_head(id, f)
  if f.entity then redis.call('HSETNX', LANES, f.entity, id) end
end

local rung = false -- a script that ends many jobs rings once

local function set_going(id, run_at)
  redis.call('HDEL', RECORD .. id, 'state', 'place')
  if tonumber(run_at) > now() then return schedule(id, run_at) end
  push(id)
  if not rung then redis.call('PUBLISH', BELL, 'ready') end
  rung = true
end

-- A job has ended, however it did: every script that ends one comes by here. If it was the head, the next one
-- is; returns its id. (One that is not in `lanes` was forgotten, so it is taken for the head.)
local function leave(id, f)
  if not f.entity then return end
  if f.place then
    redis.call('ZREM', WAITING, lane(f.entity) .. f.place .. ':' .. id)
    return
  end
  local head, before = redis.call('HGET', LANES, f.entity), lane(f.entity)
  if head and head ~= id then return end
  for _ = 1, 100 do -- as a rule the first: one whose record was evicted can't run, and goes
    local member = redis.call('ZRANGE', WAITING, '[' .. before, '(' .. #f.entity .. ':' .. f.entity .. ';', 'BYLEX',
      'LIMIT', 0, 1)[1]
    if not member then break end
    local next_one = string.sub(member, #before + 18)
    local run_at = redis.call('HGET', RECORD .. next_one, 'run_at')
    redis.call('ZREM', WAITING, member)
    if run_at then
      redis.call('HSET', LANES, f.entity, next_one)
      set_going(next_one, run_at)
      return next_one
    end
  end
  redis.call('HDEL', LANES, f.entity)
end
