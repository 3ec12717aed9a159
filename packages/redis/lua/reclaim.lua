-- Takes over items whose processor has let their lease run out. Items under suspicion come in small numbers: those
-- that were delivered once, or given back, up to so many at a time, all others one by one, so that an item which brings its
-- processors down does not take its neighbours with it for good. One that was delivered too often is dead.
-- Its own, which a pause has kept from it, or a lost connection, are told again: they are not delivered once more.
--
-- KEYS  the three streams of requests (high, normal, low), the dead letters, the totals
-- ARGV  group, consumer, from how many ms of silence on, most deliveries, most to take of those delivered once,
--       prefix of the clients' keys, prefix of their replies' keys
--
-- Returns  time of Redis in ms, how many have died, then for each item: level, id, header, payload, delivery
local group, consumer, idle, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local few = tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local result, died = { now, 0 }, 0

local function ends(level, id)
  redis.call('XACK', KEYS[level], group, id)
  redis.call('XDEL', KEYS[level], id)
end

-- See submit.lua.
local function came_at(id, header)
  return string.match(header, '^%S+ %S+ (%d+) %d+$') or string.match(id, '^%d+')
end

local function takes(level, id, entry, delivery)
  local n = #result
  result[n + 1], result[n + 2], result[n + 3], result[n + 4], result[n + 5] =
    level, id, entry[2][1], entry[2][2], delivery
end

local function dies(level, id, entry, deliveries)
  local header = entry[2][1]
  local client, number = string.match(header, '^(%S+) (%S+)')
  client = client or ''
  ends(level, id) -- first: after a write Redis no longer refuses for want of memory
  local letter = redis.call('XADD', KEYS[4], '*', header, entry[2][2], 'level', level, 'id', id, 'deliveries', deliveries)
  local ttl = redis.call('PTTL', ARGV[6] .. client)
  if ttl > 0 then
    redis.call('XADD', ARGV[7] .. client, '*', 'dead', number .. ' ' .. deliveries .. ' ' .. letter)
    redis.call('PEXPIRE', ARGV[7] .. client, ttl)
  end
  died = died + 1
end

for level = 1, 3 do
  local taken = 0
  local pending = redis.call('XPENDING', KEYS[level], group, 'IDLE', idle, '-', '+', few + 16)
  for _, one in ipairs(pending) do
    local id, deliveries = one[1], one[4]
    local entry = redis.call('XRANGE', KEYS[level], id, id)[1]
    local timeout = entry and tonumber(string.match(entry[2][1], '%d+$') or 0)
    if not entry then
      ends(level, id) -- cancelled meanwhile
    elseif timeout > 0 and tonumber(came_at(id, entry[2][1])) + timeout <= now then
      ends(level, id)
    elseif one[2] == consumer then
      redis.call('XCLAIM', KEYS[level], group, consumer, 0, id, 'JUSTID')
      takes(level, id, entry, deliveries)
      taken = taken + 1
    elseif deliveries >= most then
      dies(level, id, entry, deliveries)
    elseif taken == 0 or (deliveries <= 1 and taken < few) then
      redis.call('XCLAIM', KEYS[level], group, consumer, 0, id)
      takes(level, id, entry, deliveries + 1)
      taken = deliveries <= 1 and taken + 1 or few
      redis.call('HINCRBY', KEYS[5], 'redelivered', 1)
    end
  end
  if taken > 0 then break end
end
if died > 0 then redis.call('HINCRBY', KEYS[5], 'died', died) end
result[2] = died
return result
