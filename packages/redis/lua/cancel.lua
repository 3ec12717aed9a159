-- Takes items out of the queue that nobody waits for any more. Of those that are running their processors are told.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  group, prefix of the keys where processors are told, for how many ms they may hear of it,
--       then for each stream: how many ids, and the ids
local group, prefix, ttl = ARGV[1], ARGV[2], ARGV[3]
local told = {}
local at = 4
for level = 1, 3 do
  for i = at + 1, at + tonumber(ARGV[at]) do
    local id = ARGV[i]
    if redis.call('XDEL', KEYS[level], id) == 1 then
      -- There is no group as long as no processor has ever been there.
      local pending = redis.pcall('XPENDING', KEYS[level], group, id, id, 1)
      local consumer = not pending.err and pending[1] and pending[1][2]
      if consumer then told[consumer] = (told[consumer] or '') .. level .. ':' .. id .. ' ' end
    end
  end
  at = at + 1 + tonumber(ARGV[at])
end
-- While one cancellation follows the other the key does not expire: what is too old to be heard is dropped here.
local oldest = string.format('%.0f', redis.call('TIME')[1] * 1000 - ttl)
for consumer, items in pairs(told) do
  redis.call('XADD', prefix .. consumer, 'MINID', '~', oldest, '*', 'gone', items)
  redis.call('PEXPIRE', prefix .. consumer, ttl)
end
return 1
