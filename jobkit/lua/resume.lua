-- Set lanes going whose head is gone: its record was evicted, or nobody remembers which job it was.
-- Only `repair` calls it, when all records were looked at.
--
-- KEYS[1] lanes  hash    entity -> the id of its head
-- KEYS[2] job    prefix  of the job records
-- ARGV[1..] entities
-- returns the ids that are heads now

local lanes, job, heads = KEYS[1], KEYS[2], {}
local elsewhere = other_store()
if elsewhere then return elsewhere end

for i = 1, #ARGV do
  local head = redis.call('HGET', lanes, ARGV[i])
  local f = head and read(job .. head, 'task', 'state') or {}
  if not f.task or f.state == 'done' or f.state == 'dead' or f.state == 'cancelled' then
    heads[#heads + 1] = leave(head, {entity = ARGV[i]})
  end
end
return heads
