#!lua flags=no-writes
-- Which of a client's items are no longer in the queue. The header is compared as well: after a failover to a replica that
-- lagged behind, ids are assigned a second time.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  the client's id, then level, id and number of each item
--
-- Returns  for each 1 when it is missing, else 0
local result = {}
for i = 2, #ARGV, 3 do
  local found = redis.pcall('XRANGE', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 1])
  -- What was overwritten by a value of another type is lost as well.
  if found.err and not string.find(found.err, '^WRONGTYPE') then return found end
  local entry = found[1]
  local own = ARGV[1] .. ' ' .. ARGV[i + 2] .. ' '
  result[#result + 1] = entry and string.sub(entry[2][1], 1, #own) == own and 0 or 1
end
return result
