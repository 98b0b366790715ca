-- Take the lead if nobody has it, keep it if it is ours: SET NX PX, and an extension that asks first
-- whose the lease is. (PEXPIRE alone would extend the lease of somebody else.)
--
-- KEYS[1] leader  string  who leads; it expires with the lease
-- KEYS[2] terms   string  the number of the newest leader: it outlives the lease, so that none comes twice
-- ARGV[1] me              a name that nobody else has
-- ARGV[2] lease_ms        how long the lead lasts
-- returns {number, left}  number: the fencing number, also if this very call is sent again; 0: another
--                         leads; left: ms until the lease ends

local leader, terms, me, lease_ms = KEYS[1], KEYS[2], ARGV[1], ARGV[2]
local holder = redis.call('GET', leader)

if holder and holder ~= me then return {0, redis.call('PTTL', leader)} end
if holder then
  redis.call('PEXPIRE', leader, lease_ms)
  return {tonumber(redis.call('GET', terms) or redis.call('INCR', terms)), tonumber(lease_ms)}
end
redis.call('SET', leader, me, 'NX', 'PX', lease_ms)
return {redis.call('INCR', terms), tonumber(lease_ms)}
