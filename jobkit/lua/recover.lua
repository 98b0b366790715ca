-- Take back jobs whose lease ran out: their worker died, or hangs. The attempt counts: at the
-- limit the job is buried, so that one which kills its workers ends, too.
--
-- KEYS[1] dead    zset     job id -> when it was buried (ms)
-- KEYS[2] totals  hash     what only ever grows
-- KEYS[3] job     prefix   of the job records
-- KEYS[4] bell    channel  wakes the workers
-- ARGV[1] lease_ms         how long a job may be held without a heartbeat, where the store keeps no deadlines
-- ARGV[2] limit            how many at most
-- ARGV[3] cursor           where to go on; '' at the start
-- ARGV[4] history          how many events of a job are kept
-- ARGV[5] retention_ms     how long the record of a cancelled job is kept
-- ARGV[6] dead_max, ARGV[7] dead_ms  how many dead letters are kept, and how long
-- returns {recovered, buried, cursor}   cursor: '' when all leases were looked at

local dead, totals, job, bell = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local to = {dead = dead, totals = totals, job = job, history = ARGV[4], retention_ms = ARGV[5], dead_max = ARGV[6],
  dead_ms = ARGV[7]}
local late, cursor = expired(ARGV[1], tonumber(ARGV[2]), ARGV[3]) -- entry, id, entry, id, ...
if #late == 0 then return {0, 0, cursor} end

local t, recovered, buried, entries = now(), 0, 0, {}

for i = 1, #late, 2 do
  local entry, id = late[i], late[i + 1]
  local f = read(job .. id, 'state', 'entry', 'attempt', 'max', 'started', 'cancel', 'worker',
    'entity')
  entries[#entries + 1] = entry
  if f.state == 'running' and f.entry == entry then
    local outcome = take_back(id, f, t, to, 'lease expired, held by ' .. f.worker)
    if outcome == 'recovered' then recovered = recovered + 1 end
    if outcome == 'dead' then buried = buried + 1 end
  end
end

drop(entries)
if recovered > 0 then redis.call('PUBLISH', bell, 'ready') end
return {recovered, buried, cursor}
