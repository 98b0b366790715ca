-- Give up the lead, if it is still ours: DEL alone would end the lease of whoever leads by now.
--
-- KEYS[1] leader  string   who leads
-- KEYS[2] bell    channel  wakes those who would lead
-- ARGV[1] me               a name that nobody else has
-- returns 1, or 0: it was not ours, nothing changed

if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', KEYS[2], 'leader')
return 1
