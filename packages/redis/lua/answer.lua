-- Writes the answers of a batch and ends its items, in one step; or writes nothing, if this processor no longer
-- holds one of them under the same delivery, and says which.
--
-- KEYS  the three streams of requests (high, normal, low), then the key and the replies of each client
-- ARGV  group, consumer, how many this consumer holds at most, a token for these replies (see trim.lua),
--       one payload for each client, then for each stream: how many items, and id and delivery of each
--
-- Returns  level:id of those that are no longer held; nothing was done if there are any
local call = redis.call
local group, consumer, held = ARGV[1], ARGV[2], ARGV[3]
local clients = (#KEYS - 3) / 2
local at = 5 + clients
local lost, ids = {}, {}

for level = 1, 3 do
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    -- Items are sent in the order of their ids.
    local first, last = ARGV[at], ARGV[at + 2 * (count - 1)]
    local deliveries, own = {}, {}
    for _, entry in ipairs(call('XPENDING', KEYS[level], group, first, last, held, consumer)) do
      deliveries[entry[1]] = entry[4]
    end
    for i = 1, count do
      local id = ARGV[at]
      if deliveries[id] ~= tonumber(ARGV[at + 1]) then lost[#lost + 1] = level .. ':' .. id end
      own[i] = id
      at = at + 2
    end
    ids[level] = own
  end
end
if #lost > 0 then return lost end

for level, own in pairs(ids) do
  for first = 1, #own, 1000 do
    local last = math.min(first + 999, #own)
    call('XACK', KEYS[level], group, unpack(own, first, last))
    call('XDEL', KEYS[level], unpack(own, first, last))
  end
end
for i = 1, clients do
  local replies, ttl = KEYS[3 + 2 * i], 0
  -- Replies live as long as their client, which sees to it once they are there. Nobody reads those of one that is gone,
  -- and they would never be deleted.
  local are_there = call('EXISTS', replies) == 1
  if not are_there then ttl = call('PTTL', KEYS[2 + 2 * i]) end
  if are_there or ttl > 0 then
    -- Whatever is wrong with one client's key, the others have their answers, and the items have ended.
    redis.pcall('XADD', replies, '*', 'a', ARGV[4 + i], 't', ARGV[4])
    if not are_there then call('PEXPIRE', replies, ttl) end
  end
end
return lost
