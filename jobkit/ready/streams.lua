-- The ready store of design A: a stream, read by one consumer group. What is pending in the group
-- is running; how long an entry was not touched is the age of its lease.
--
-- STORE[1] ready  stream  entries with one field: the job id
-- STORE[2] alone  stream  the same, for jobs whose lease ran out: handed out one at a time
--
-- An entry is named 'r' or 'a', for its stream, and its id there: 'r1767225600000-0'.

local GROUP = 'workers'
local STREAMS = {r = STORE[1], a = STORE[2]}

local function split(entry) return STREAMS[string.sub(entry, 1, 1)], string.sub(entry, 2) end

local function push(id, alone)
  redis.call('XADD', alone and STREAMS.a or STREAMS.r, '*', 'id', id)
end

local function take_from(letter, worker, limit)
  local stream, out = STREAMS[letter], {}
  if redis.call('XLEN', stream) == 0 then return out end
  local read = {'XREADGROUP', 'GROUP', GROUP, worker, 'COUNT', limit, 'STREAMS', stream, '>'}
  local got = redis.pcall(unpack(read))
  if got and got.err then -- no group yet, or no more: from 0, so that nothing is passed over
    redis.call('XGROUP', 'CREATE', stream, GROUP, '0')
    got = redis.call(unpack(read))
  end
  for _, entry in ipairs(got and got[1][2] or {}) do
    out[#out + 1] = letter .. entry[1]
    out[#out + 1] = entry[2][2]
  end
  return out
end

-- entry, id, entry, id, ...; a job that may have killed its worker comes alone
local function take(worker, limit)
  local suspect = take_from('a', worker, 1)
  return #suspect > 0 and suspect or take_from('r', worker, limit)
end

-- XACK alone would leave the entry in the stream for ever, XDEL alone would leave it pending.
local function drop(entries)
  local ids = {r = {}, a = {}}
  for _, entry in ipairs(entries) do
    local list = ids[string.sub(entry, 1, 1)]
    if list then list[#list + 1] = string.sub(entry, 2) end
  end
  for _, letter in ipairs({'r', 'a'}) do
    if #ids[letter] > 0 then
      redis.pcall('XACK', STREAMS[letter], GROUP, unpack(ids[letter]))
      redis.call('XDEL', STREAMS[letter], unpack(ids[letter]))
    end
  end
end

local function renew(worker, entry)
  local stream, id = split(entry)
  if stream then redis.pcall('XCLAIM', stream, GROUP, worker, 0, id, 'JUSTID') end
end

-- entry, id, entry, id, ... of leases older than lease_ms, and where to go on ('' after the last).
local function expired(lease_ms, limit, cursor)
  local out, letter, start = {}, string.sub(cursor, 1, 1), string.sub(cursor, 2)
  if cursor == '' then letter, start = 'r', '0-0' end
  while true do
    local stream = STREAMS[letter]
    local got = (letter == 'r' or redis.call('EXISTS', stream) == 1) -- often there is no second one
      and redis.pcall('XAUTOCLAIM', stream, GROUP, 'recover', lease_ms, start, 'COUNT', limit - #out / 2, 'JUSTID')
    if got and not got.err then
      for _, id in ipairs(got[2]) do
        local entry = redis.call('XRANGE', stream, id, id)[1] -- none: somebody trimmed the stream
        out[#out + 1] = letter .. id
        out[#out + 1] = entry and entry[2][2] or ''
      end
      if got[1] ~= '0-0' then return out, letter .. got[1] end
    end
    if letter == 'a' then return out, '' end
    if #out / 2 >= limit then return out, 'a0-0' end
    letter, start = 'a', '0-0'
  end
end

local function pending(stream) -- how many, and the last
  local got = redis.pcall('XPENDING', stream, GROUP)
  return got.err and 0 or tonumber(got[1]), got[3]
end

local function sizes() -- how many are ready, how many are running
  local waiting, running = 0, 0
  for _, stream in ipairs(STORE) do
    local held_here = pending(stream)
    waiting, running = waiting + redis.call('XLEN', stream) - held_here, running + held_here
  end
  return math.max(0, waiting), running -- below 0 if somebody trimmed the stream
end

local function heads(n) -- the ids that will be taken first, of each line: all behind what is pending
  local out = {{}, {}}
  for i, stream in ipairs(STORE) do
    local _, last = pending(stream)
    local waiting = redis.call('XRANGE', stream, last and '(' .. last or '-', '+', 'COUNT', n)
    for at, entry in ipairs(waiting) do out[i][at] = entry[2][2] end
  end
  return out
end

-- Is the entry still there, and the job's? Then it is pending, or will be read anew if its group
-- is lost. (Ids of entries repeat if a stream is deleted and made anew within one ms.)
local function holds(entry, job_id)
  local stream, id = split(entry or '')
  local found = stream and redis.call('XRANGE', stream, id, id)[1]
  return found and found[2][2] == job_id
end

-- Did the job come in after what the caller has read? `seen` is 'last-ready-id last-alone-id'.
-- Past 10,000 newer entries the answer is a careful yes.
local function arrived(id, seen)
  local last = {string.match(seen, '^(%S+) (%S+)$')}
  for i, stream in ipairs(STORE) do
    local newer = redis.call('XRANGE', stream, '(' .. last[i], '+', 'COUNT', 10000)
    if #newer == 10000 then return true end
    for _, entry in ipairs(newer) do
      if entry[2][2] == id then return true end
    end
  end
  return false
end

-- A worker's name stays in the group after the worker. Deleting one that holds entries would
-- lose them, so only the idle with nothing pending go.
local function reap(idle_ms)
  local gone = 0
  for _, stream in ipairs(STORE) do
    local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, GROUP)
    for _, flat in ipairs(consumers.err and {} or consumers) do
      local c = {}
      for i = 1, #flat, 2 do c[flat[i]] = flat[i + 1] end
      if c.pending == 0 and c.idle > tonumber(idle_ms) then
        redis.call('XGROUP', 'DELCONSUMER', stream, GROUP, c.name)
        gone = gone + 1
      end
    end
  end
  return gone
end
