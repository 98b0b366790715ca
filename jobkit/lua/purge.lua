-- Drop dead letters: the named ones, or the oldest first. They are counted as dropped.
--
-- KEYS[1] dead    zset    job id -> when it was buried (ms)
-- KEYS[2] totals  hash    what only ever grows
-- KEYS[3] job     prefix  of the job records
-- ARGV[1] max             how many may stay, if none is named
-- ARGV[2] age_ms          drop what is older all the same
-- ARGV[3] limit           how many to drop at most
-- ARGV[4..] ids           of dead jobs; others are left alone
-- returns how many were dropped

local dead, totals, job = KEYS[1], KEYS[2], KEYS[3]
if #ARGV == 3 then return prune(dead, totals, job, tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]) end

local dropped = 0
for i = 4, #ARGV do
  if redis.call('ZREM', dead, ARGV[i]) == 1 then
    redis.call('DEL', job .. ARGV[i])
    dropped = dropped + 1
  end
end
if dropped > 0 then redis.call('HINCRBY', totals, 'dropped', dropped) end
return dropped
