-- A processor's heartbeat: renews the leases of what it holds, and publishes how fast it is.
--
-- KEYS  the three streams of requests (high, normal, low), the processors, the rate
-- ARGV  group, consumer, how many this consumer holds at most, after how many ms of silence a processor is forgotten,
--       its own rate in items a second, what it says of itself (JSON),
--       then for each stream: how many ids, and the ids, in order
--
-- Returns  time of Redis in ms, the same at this processor's last heartbeat that Redis knows of (0 for none), then level:id
--          of those that are no longer held
local group, consumer, held, silence = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local processors = KEYS[4]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local result = { now, 0 }

local at = 7
for level = 1, 3 do
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    local first, last = ARGV[at], ARGV[at + count - 1]
    local mine, renewed = {}, {}
    for _, entry in ipairs(redis.call('XPENDING', KEYS[level], group, first, last, held, consumer)) do
      mine[entry[1]] = true
    end
    for _ = 1, count do
      local id = ARGV[at]
      if mine[id] then renewed[#renewed + 1] = id else result[#result + 1] = level .. ':' .. id end
      at = at + 1
    end
    for from = 1, #renewed, 1000 do
      local to = math.min(from + 999, #renewed)
      local command = { 'XCLAIM', KEYS[level], group, consumer, 0 }
      for i = from, to do command[#command + 1] = renewed[i] end
      command[#command + 1] = 'JUSTID'
      redis.call(unpack(command))
    end
  end
end

local beat = redis.call('HGET', processors, consumer)
result[2] = beat and tonumber(string.match(beat, '^(%d+) ')) or 0
-- Deleted first: after a write Redis no longer refuses for want of memory, and the sign of life takes no more than before.
redis.call('HDEL', processors, consumer)
redis.call('HSET', processors, consumer, now .. ' ' .. ARGV[5] .. ' ' .. ARGV[6])

-- All are looked at by one of them, and not again for a while: each looking at all, at each of its beats, would be work
-- that grows with the square of their number.
-- One that lives longer than it was given was written by a Redis whose clock was ahead.
local looked = redis.call('PTTL', KEYS[5])
if looked > silence * 15 / 16 and looked <= silence then return result end
local rate = 0
local all = redis.call('HGETALL', processors)
for i = 1, #all, 2 do
  local seen = tonumber(string.match(all[i + 1], '^(%d+) '))
  if not seen then
    redis.call('HDEL', processors, all[i]) -- no processor has said that
  elseif seen + silence < now then
    -- Forgotten once nothing is pending for it: its consumer goes with it, and would take that along.
    local has_none = true
    for level = 1, 3 do
      if #redis.call('XPENDING', KEYS[level], group, '-', '+', 1, all[i]) == 0 then
        redis.call('XGROUP', 'DELCONSUMER', KEYS[level], group, all[i])
      else
        has_none = false
      end
    end
    if has_none then redis.call('HDEL', processors, all[i]) end
  else
    if seen > now then
      -- From a Redis whose clock was ahead of this one. Its leases would be valid until this clock has caught up: they
      -- begin now.
      for level = 1, 3 do
        for _, entry in ipairs(redis.call('XPENDING', KEYS[level], group, '-', '+', held, all[i])) do
          redis.call('XCLAIM', KEYS[level], group, all[i], 0, entry[1], 'IDLE', 0, 'JUSTID')
        end
      end
      redis.call('HSET', processors, all[i], now .. string.match(all[i + 1], '^%d+(.*)$'))
    end
    rate = rate + (tonumber(string.match(all[i + 1], '^%d+ (%d+%.?%d*) ')) or 0)
  end
end
-- Also when it is 0, which means that it is not known: it tells when this was last looked at.
redis.call('SET', KEYS[5], tostring(rate), 'PX', silence)
return result
