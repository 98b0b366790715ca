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

local to = {delayed = KEYS[1], totals = KEYS[2], job = KEYS[3], bell = KEYS[4]}
local elsewhere = other_store()
if elsewhere then return elsewhere end

local answers = {}
for i = 2, #ARGV, 8 do answers[#answers + 1] = accept(to, ARGV[1], unpack(ARGV, i, i + 7)) end
announce(to)
return answers
