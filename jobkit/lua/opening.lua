-- What stands before the ready store in every script: the clock, and which store the queue has.

local moment
local function now() -- Redis TIME, in ms: the only clock that decides; one instant for the whole script
  if not moment then
    local time = redis.call('TIME')
    moment = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return moment
end

-- Two stores of one queue would be two queues, of which neither sees the other's jobs. `KIND` is what
-- the caller takes the store to be, `KIND_KEY` where the first submit wrote what it is. A verb that puts
-- into the store, takes from it or counts it asks, and answers with this error if there is one.
local function other_store()
  local kind = redis.call('GET', KIND_KEY)
  return kind and kind ~= KIND and redis.error_reply('WRONGSTORE ' .. kind)
end

local function name_store() redis.call('SET', KIND_KEY, KIND) end
