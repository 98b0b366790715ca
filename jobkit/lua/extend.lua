-- Keep claimed jobs a while longer: each lease starts anew. Only the newest claim can.
--
-- KEYS[1] job       prefix  of the job records
-- ARGV[1] worker            who holds them
-- ARGV[2] lease_ms          how long from now, if the job does not say, where the store keeps deadlines
-- ARGV[3..] claims          two each: id, token
-- returns per claim 'ok'; 'cancel': extended, but stop soon, then ack or fail;
--                   'stale': not yours any more, nothing changed

local answers = {}
for i = 3, #ARGV, 2 do
  local f = read(KEYS[1] .. ARGV[i], 'state', 'token', 'entry', 'cancel')
  if held(f, ARGV[i + 1]) then
    renew(ARGV[1], f.entry, ARGV[2])
    answers[#answers + 1] = f.cancel and 'cancel' or 'ok'
  else
    answers[#answers + 1] = 'stale'
  end
end
return answers
