-- Takes items out of the queue that nobody waits for any more. Of those that are running their processors are told.
-- The header is compared, for the reason given in missing.lua.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  group, prefix of the keys where processors are told, for how many ms they may hear of it, the client's id,
--       then level, id and number of each item
local group, prefix, ttl = ARGV[1], ARGV[2], ARGV[3]
local told = {}
for i = 5, #ARGV, 3 do
  local level, id = tonumber(ARGV[i]), ARGV[i + 1]
  local own = ARGV[4] .. ' ' .. ARGV[i + 2] .. ' '
  local entry = redis.call('XRANGE', KEYS[level], id, id)[1]
  if entry and string.sub(entry[2][1], 1, #own) == own then
    redis.call('XDEL', KEYS[level], id)
    -- There is no group as long as no processor has ever been there.
    local pending = redis.pcall('XPENDING', KEYS[level], group, id, id, 1)
    local consumer = not pending.err and pending[1] and pending[1][2]
    if consumer then told[consumer] = (told[consumer] or '') .. level .. ':' .. id .. ' ' end
  end
end
-- While one cancellation follows the other the key does not expire: what is too old to be heard is dropped here.
local oldest = string.format('%.0f', redis.call('TIME')[1] * 1000 - ttl)
for consumer, items in pairs(told) do
  redis.call('XADD', prefix .. consumer, 'MINID', '~', oldest, '*', 'gone', items)
  redis.call('PEXPIRE', prefix .. consumer, ttl)
end
return 1
