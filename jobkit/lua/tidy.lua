-- Housekeeping, now and then: old dead letters go, and names of workers that are gone.
--
-- KEYS[1] dead    zset    job id -> when it was buried (ms)
-- KEYS[2] totals  hash    what only ever grows
-- KEYS[3] job     prefix  of the job records
-- ARGV[1] dead_max        how many dead letters are kept
-- ARGV[2] dead_ms         and for how long
-- ARGV[3] idle_ms         how long a worker's name may be idle, with nothing pending
-- ARGV[4] limit           how many dead letters to drop at most
-- returns {dropped, reaped}

return {prune(KEYS[1], KEYS[2], KEYS[3], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[4]), reap(ARGV[3])}
