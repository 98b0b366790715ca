-- Apply the effect of a job and mark it as applied, in one step: a crash finds both or neither.
-- It needs no ready store, so it runs alone, without the prelude that other scripts get.
--
-- KEYS[1] record   hash  the job's record
-- KEYS[2..] effects      the key of each effect
-- ARGV[1] token          the claim's fencing token
-- ARGV[2] mark           the field of the record that says so
-- ARGV[3..] effects      each: how many words, the command, what follows its key
-- returns 'applied' (also if this very claim asks again); 'before': by an earlier claim;
--         'stale': not yours any more, nothing changed

local record, token, mark = KEYS[1], ARGV[1], ARGV[2]
local marked = redis.call('HGET', record, mark)
if marked then return marked == token and 'applied' or 'before' end

local now = redis.call('HMGET', record, 'state', 'token')
if now[1] ~= 'running' or now[2] ~= token then return 'stale' end

local at = 3
for i = 2, #KEYS do
  local upto = at + ARGV[at]
  redis.call(ARGV[at + 1], KEYS[i], unpack(ARGV, at + 2, upto))
  at = upto + 1
end
redis.call('HSET', record, mark, token)
return 'applied'
