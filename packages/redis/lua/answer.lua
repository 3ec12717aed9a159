-- Writes the answers of a batch and ends its items, in one step; or writes nothing, if this processor no longer
-- holds one of them under the same delivery, and says which.
--
-- KEYS  the three streams of requests (high, normal, low), then the key and the replies of each client
-- ARGV  group, consumer, how many this consumer holds at most, one payload for each client,
--       then for each stream: how many items, and id and delivery of each
--
-- Returns  level:id of those that are no longer held; nothing was done if there are any
local group, consumer, held = ARGV[1], ARGV[2], ARGV[3]
local clients = (#KEYS - 3) / 2
local at = 4 + clients
local lost, ids = {}, { {}, {}, {} }

for level = 1, 3 do
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    -- Items are sent in the order of their ids.
    local first, last = ARGV[at], ARGV[at + 2 * (count - 1)]
    local deliveries = {}
    for _, entry in ipairs(redis.call('XPENDING', KEYS[level], group, first, last, held, consumer)) do
      deliveries[entry[1]] = entry[4]
    end
    for _ = 1, count do
      local id = ARGV[at]
      if deliveries[id] == tonumber(ARGV[at + 1]) then
        ids[level][#ids[level] + 1] = id
      else
        lost[#lost + 1] = level .. ':' .. id
      end
      at = at + 2
    end
  end
end
if #lost > 0 then return lost end

for level = 1, 3 do
  for first = 1, #ids[level], 1000 do
    local last = math.min(first + 999, #ids[level])
    redis.call('XACK', KEYS[level], group, unpack(ids[level], first, last))
    redis.call('XDEL', KEYS[level], unpack(ids[level], first, last))
  end
end
for i = 1, clients do
  -- Replies live as long as their client: nobody reads those of one that is gone, and they would never be deleted.
  local ttl = redis.call('PTTL', KEYS[2 + 2 * i])
  if ttl > 0 then
    -- Whatever is wrong with one client's key, the others have their answers, and the items have ended.
    redis.pcall('XADD', KEYS[3 + 2 * i], '*', 'a', ARGV[3 + i])
    redis.call('PEXPIRE', KEYS[3 + 2 * i], ttl)
  end
end
return lost
