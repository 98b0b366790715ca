-- Write which store a shard has, and of how many shards it is one, before the first job comes.
--
-- ARGV[1] resized  '1': also if it was closed to be resized
-- returns 'open'; the error of another store or another number of shards, if there is one

local kind = redis.call('GET', KIND_KEY)
if kind == 'closed' and ARGV[1] == '1' then kind = false end
if kind and kind ~= KIND then return redis.error_reply('WRONGSTORE ' .. kind) end
name_store()
return 'open'
