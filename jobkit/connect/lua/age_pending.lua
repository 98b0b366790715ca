-- Make one page of a consumer group's pending entries idle for longer.
-- Owners, delivery counts and the order stay. An entry that was deleted from the stream is left
-- alone: claiming it would drop it from the group (7.0 on).
--
-- KEYS[1] stream
-- ARGV[1] group
-- ARGV[2] dt       ms to be idle for longer
-- ARGV[3] after    where the page begins: '-', or '(' and the id that the last page ended with
-- ARGV[4] limit    entries of a page
-- returns          the id that this page ended with, or false when there was none left
local page = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], '+', ARGV[4])
if #page == 0 then return false end
for _, entry in ipairs(page) do
  local id, owner, idle, deliveries = entry[1], entry[2], entry[3], entry[4]
  if #redis.call('XRANGE', KEYS[1], id, id) == 1 then
    redis.call('XCLAIM', KEYS[1], ARGV[1], owner, 0, id,
      'IDLE', string.format('%.0f', idle + ARGV[2]), 'RETRYCOUNT', deliveries, 'JUSTID')
  end
end
return page[#page][1]
