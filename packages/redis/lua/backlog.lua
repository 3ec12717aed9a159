-- How many items wait to be fetched.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  group
--
-- Returns  time of Redis in ms, how many wait
local waiting = 0
for level = 1, 3 do
  local length = redis.call('XLEN', KEYS[level])
  if length > 0 then
    -- What is in the stream and not pending. One that was cancelled while it runs is pending only, so it may be more.
    waiting = waiting + math.max(0, length - redis.call('XPENDING', KEYS[level], ARGV[1])[1])
  end
end
local time = redis.call('TIME')
return { time[1] * 1000 + math.floor(time[2] / 1000), waiting }
