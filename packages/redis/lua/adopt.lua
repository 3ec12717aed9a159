-- What was handed to this processor and never reached it, because the connection broke on the way: told again.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  group, consumer, how many at most, then for each stream: how many ids it holds, and the ids
--
-- Returns  time of Redis in ms, then for each item: level, id, header, payload, delivery
local group, consumer, most = ARGV[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local result = { time[1] * 1000 + math.floor(time[2] / 1000) }

local at = 4
for level = 1, 3 do
  local held = {}
  local count = tonumber(ARGV[at])
  for i = at + 1, at + count do held[ARGV[i]] = true end
  at = at + 1 + count
  for _, one in ipairs(redis.call('XPENDING', KEYS[level], group, '-', '+', most, consumer)) do
    local id = one[1]
    if not held[id] then
      local entry = redis.call('XRANGE', KEYS[level], id, id)[1]
      if entry then
        redis.call('XCLAIM', KEYS[level], group, consumer, 0, id, 'JUSTID')
        local n = #result
        result[n + 1], result[n + 2], result[n + 3], result[n + 4], result[n + 5] =
          level, id, entry[2][1], entry[2][2], one[4]
      else
        redis.call('XACK', KEYS[level], group, id)
      end
    end
  end
end
return result
