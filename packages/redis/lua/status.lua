#!lua flags=no-writes
-- How a queue stands, at one instant. Looks only: it works, and leaves nothing behind, where there is no such queue.
--
-- KEYS  the three streams of requests (high, normal, low), the dead letters, the totals, the processors, the rate
-- ARGV  group
--
-- Returns  time of Redis in ms, rate in items a second, redelivered so far, died so far, dead letters,
--          for each level: outstanding, held by processors, the oldest id, the oldest id that nobody holds ('' for none),
--          then for each processor: its id and what it said last
local group = ARGV[1]
local time = redis.call('TIME')
local totals = redis.call('HMGET', KEYS[5], 'redelivered', 'died')
local result = {
  time[1] * 1000 + math.floor(time[2] / 1000),
  redis.call('GET', KEYS[7]) or '0',
  totals[1] or '0',
  totals[2] or '0',
  redis.call('XLEN', KEYS[4]),
}

local function group_of(stream)
  if redis.call('EXISTS', stream) == 0 then return 0, '0-0' end
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then return fields['pending'], fields['last-delivered-id'] end
  end
  return 0, '0-0' -- no processor was ever there
end

local function first_from(stream, start)
  local entry = redis.call('XRANGE', stream, start, '+', 'COUNT', 1)[1]
  return entry and entry[1] or ''
end

for level = 1, 3 do
  local stream = KEYS[level]
  local length = redis.call('XLEN', stream)
  local pending, last = group_of(stream)
  local next_id = first_from(stream, '(' .. last)
  -- What was cancelled while it ran is pending, but no longer in the stream.
  local held = math.min(pending, next_id == '' and length or math.max(0, length - 1))
  local n = #result
  result[n + 1], result[n + 2], result[n + 3], result[n + 4] = length, held, first_from(stream, '-'), next_id
end

for _, text in ipairs(redis.call('HGETALL', KEYS[6])) do result[#result + 1] = text end
return result
