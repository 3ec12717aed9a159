-- Which of these items are no longer in the queue.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  level and id of each
--
-- Returns  for each 1 when it is missing, else 0
local result = {}
for i = 1, #ARGV, 2 do
  local found = redis.call('XRANGE', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 1])
  result[#result + 1] = #found == 0 and 1 or 0
end
return result
