#!lua flags=no-writes
-- The ids of dead letters, without what is in them: of all that are there now, when the first of them are asked for.
--
-- KEYS  the dead letters
-- ARGV  id to begin after ('' for the first), id to end at ('' for the last there is), how many at most
--
-- Returns  the id to end at ('' when there are none), and the ids
local last = ARGV[2]
if last == '' then
  local newest = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if not newest then return { '' } end
  last = newest[1]
end
local result = { last }
local from = ARGV[1] == '' and '-' or '(' .. ARGV[1]
for _, letter in ipairs(redis.call('XRANGE', KEYS[1], from, last, 'COUNT', ARGV[3])) do
  result[#result + 1] = letter[1]
end
return result
