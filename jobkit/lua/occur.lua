-- Make the jobs of a schedule's occurrences, and write down that they are made: one step. With a mark
-- (SET NX) in one command and the job in the next, a crash between them loses the occurrence.
--
-- KEYS[1] schedules  zset     name -> when its next occurrence is due (ms)
-- KEYS[2] schedule   prefix   of the schedules' records
-- KEYS[3] terms      string   the number of the newest leader
-- KEYS[4] delayed    zset     job id -> when it is due (ms)
-- KEYS[5] totals     hash     what only ever grows
-- KEYS[6] job        prefix   of the job records
-- KEYS[7] bell       channel  wakes the workers
-- ARGV[1] name                of the schedule
-- ARGV[2] number              the leader's fencing number; 0: there is no leader, the record decides alone
-- ARGV[3] seen                the record's version that the caller computed all this from
-- ARGV[4] version             the new one: a nonce of this call
-- ARGV[5] last                the newest slot (ms) that is settled by this
-- ARGV[6] next                the one after it
-- ARGV[7] dropped             how many slots are passed over
-- ARGV[8] task, ARGV[9] args, ARGV[10] max, ARGV[11] priority, ARGV[12] entity, ARGV[13] lease
-- ARGV[14..] occurrences      two each: job id, slot
-- returns 'made <jobs>'       also if this very call is sent again; a job whose id was known is none
--         'fenced': a newer leader is there; 'changed': the record is another by now, somebody was
--         quicker; 'early': Redis says it is not time yet. Nothing changed.

local schedules, record, terms = KEYS[1], KEYS[2] .. ARGV[1], KEYS[3]
local to = {delayed = KEYS[4], totals = KEYS[5], job = KEYS[6], bell = KEYS[7]}
local name, number, seen, version = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local last, next, dropped = ARGV[5], ARGV[6], ARGV[7]
local task, args, max, priority, entity, lease = ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12], ARGV[13]
local elsewhere = other_store()
if elsewhere then return elsewhere end

local f = read(record, 'version', 'answer', 'ahead')
if f.version == version then return f.answer end
if number ~= '0' and redis.call('GET', terms) ~= number then return 'fenced' end
if f.version ~= seen then return 'changed' end
local ahead = tonumber(f.ahead or 0) -- how far this calendar was moved on, by `advance` on a live server
if tonumber(last) > now() + ahead then return 'early' end

for i = 14, #ARGV, 2 do
  local when = string.format('%.0f', ARGV[i + 1] - ahead)
  accept(to, version, ARGV[i], when, task, args, max, priority, entity, lease)
end
local answer = 'made ' .. made.jobs
redis.call('HSET', record, 'version', version, 'answer', answer, 'last', last, 'next', next)
redis.call('HINCRBY', record, 'made', made.jobs)
redis.call('HINCRBY', record, 'dropped', dropped)
redis.call('ZADD', schedules, string.format('%.0f', next - ahead), name)
if made.jobs > 0 then redis.call('HINCRBY', to.totals, 'occurred', made.jobs) end
if dropped ~= '0' then redis.call('HINCRBY', to.totals, 'missed', dropped) end
announce(to)
return answer
