-- Move one page of a sorted set of moments back in time, in the order of the scores.
-- What is added while the pages are turned is new, and keeps its score if that lies before the page.
--
-- KEYS[1] moments  zset  member -> moment (ms)
-- ARGV[1] dt       ms to move back by
-- ARGV[2] after    where the page begins: '-inf', or '(' and the score that the last page ended with
-- ARGV[3] limit    members of a page; those that share its last score come with it
-- returns          the score that this page ended with, or false when there was none left
local dt = tonumber(ARGV[1])
local page = redis.call('ZRANGE', KEYS[1], ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
if #page == 0 then return false end
local last = page[#page]
page = redis.call('ZRANGE', KEYS[1], ARGV[2], last, 'BYSCORE', 'WITHSCORES')
for i = 1, #page, 2 do
  redis.call('ZADD', KEYS[1], string.format('%.17g', tonumber(page[i + 1]) - dt), page[i])
end
return last
