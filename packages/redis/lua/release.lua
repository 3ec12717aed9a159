-- Gives back what a processor holds and will not run, as if it had never been delivered to it: the next one to look
-- takes it over at once. One that leaves for good is forgotten.
--
-- KEYS  the three streams of requests (high, normal, low), the processors, where it hears who has gone
-- ARGV  group, consumer, how many this consumer holds at most, a lease in ms, 1 when it leaves (else 0),
--       then for each stream: how many ids, and id and delivery of each
local group, consumer, held, lease = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local at = 6
for level = 1, 3 do
  local count = tonumber(ARGV[at])
  at = at + 1
  if count > 0 then
    local mine = {}
    for _, entry in ipairs(redis.call('XPENDING', KEYS[level], group, '-', '+', held, consumer)) do
      mine[entry[1]] = entry[4]
    end
    for _ = 1, count do
      local id, delivery = ARGV[at], tonumber(ARGV[at + 1])
      if mine[id] == delivery then
        -- What came back to the one that gave it back counts as delivered 0 times already.
        local before = math.max(0, delivery - 1)
        redis.call('XCLAIM', KEYS[level], group, consumer, 0, id, 'IDLE', lease, 'RETRYCOUNT', before, 'JUSTID')
      end
      at = at + 2
    end
  end
end
if ARGV[5] == '0' then return 1 end
local has_none = true
for level = 1, 3 do
  if #redis.call('XPENDING', KEYS[level], group, '-', '+', 1, consumer) == 0 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[level], group, consumer)
  else
    has_none = false
  end
end
if has_none then
  redis.call('HDEL', KEYS[4], consumer)
else
  -- To whoever beats next it has been silent since ever, and is forgotten when what it gave back was taken over.
  redis.call('HSET', KEYS[4], consumer, '0 0 {}')
end
redis.call('DEL', KEYS[5])
return 1
