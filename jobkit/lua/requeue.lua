-- Give dead letters another life: payload and history stay, attempts start anew. One that has an entity
-- joins the end of its lane.
--
-- KEYS[1] delayed  zset     job id -> when it is due (ms)
-- KEYS[2] dead     zset     job id -> when it was buried (ms)
-- KEYS[3] totals   hash     what only ever grows
-- KEYS[4] job      prefix   of the job records
-- ARGV[1] nonce             of this call
-- ARGV[2] history           how many events of a job are kept
-- ARGV[3..] letters         two each: id, delay_ms
-- returns per letter 'requeued' (also if this very call is sent again), the state of a job that is
--                   not dead, or 'missing' (the record is gone; the letter is struck off)

local delayed, dead, totals, job = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local t, answers = now(), {}

for i = 3, #ARGV, 2 do
  local id, delay_ms = ARGV[i], ARGV[i + 1]
  local record = job .. id
  local f = read(record, 'task', 'state', 'replay', 'ended', 'entity')
  local answer = f.state or (redis.call('ZSCORE', delayed, id) and 'scheduled' or 'ready')
  if not f.task then
    answer = 'missing'
    if redis.call('ZREM', dead, id) == 1 then redis.call('HINCRBY', totals, 'dropped', 1) end
  elseif f.state == 'dead' then
    answer = 'requeued'
    redis.call('ZREM', dead, id)
    redis.call('HDEL', record, 'state', 'attempt', 'cancel')
    redis.call('HSET', record, 'run_at', t + delay_ms, 'replay', ARGV[1])
    redis.call('HINCRBY', record, 'replays', 1)
    if enter(id, f) then schedule(id, t + delay_ms) end
    redis.call('HINCRBY', totals, 'requeued', 1)
    remember(record, ARGV[2], t, t, 0, 'requeued', delay_ms, '')
  elseif f.replay == ARGV[1] then
    answer = 'requeued'
  end
  answers[#answers + 1] = answer
end
return answers
