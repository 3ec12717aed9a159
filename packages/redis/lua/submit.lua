-- Lets a client's items into the queue, as far as there is room, in one step.
--
-- A submission has a number. The result of a client's last one is kept: when the connection broke before
-- the client heard it, the client sends the same submission again and is told, and nothing is done twice.
--
-- KEYS  the three streams of requests (high, normal, low), the client, its replies, the rate
-- ARGV  number of the submission, TTL of the client in ms, most that may be outstanding,
--       id up to which the client has read its replies ('' for none),
--       how many items for each of the three streams, then header and payload of each, stream by stream
-- A header is 'client number timeoutMs', the time-out 0 for none.
--
-- Returns  time of Redis in ms, outstanding before, rate in items a second (0 when unknown),
--          the first id in each stream ('' for none), 1 when the client was known (0: it is new, or had been given
--          up, and what was answered meanwhile is lost), and for each item in order:
--          0 accepted, 1 no room, 1 + n no hope to be answered within its time-out: n are ahead of it
local client, replies, rate_key = KEYS[4], KEYS[5], KEYS[6]
local number, ttl = ARGV[1], ARGV[2]

local known = redis.call('HMGET', client, 'number', 'result')
if known[1] == number then
  redis.call('PEXPIRE', client, ttl)
  return cmsgpack.unpack(known[2])
end
-- On a connection that the client had given up, and overtaken by its next: carried out before, or never to be.
if known[1] and tonumber(known[1]) > tonumber(number) then
  return redis.error_reply('OVERTAKEN submission ' .. number .. ' comes after ' .. known[1])
end

local time = redis.call('TIME')
local outstanding, lengths = 0, {}
for level = 1, 3 do
  lengths[level] = redis.call('XLEN', KEYS[level])
  outstanding = outstanding + lengths[level]
end
local rate = tonumber(redis.call('GET', rate_key) or '0')
local room = tonumber(ARGV[3]) - outstanding
local result = { time[1] * 1000 + math.floor(time[2] / 1000), outstanding, tostring(rate), '', '', '', redis.call('EXISTS', client) }

local at = 8
-- Of the levels above and its own: those below have to wait for it.
local ahead = 0
for level = 1, 3 do
  ahead = ahead + lengths[level]
  -- The first id is Redis' own choice; those after it follow without a gap, so one id tells them all.
  local id = '*'
  for _ = 1, tonumber(ARGV[4 + level]) do
    local header = ARGV[at]
    local verdict = 0
    if room <= 0 then
      verdict = 1
    elseif rate > 0 and string.sub(header, -2) ~= ' 0' then
      if ahead / rate * 1000 > tonumber(string.match(header, '%d+$')) then verdict = 1 + ahead end
    end
    if verdict == 0 then
      local added = redis.call('XADD', KEYS[level], id, header, ARGV[at + 1])
      if id == '*' then
        result[3 + level] = added
        id = string.match(added, '^%d+') .. '-*'
      end
      room = room - 1
      ahead = ahead + 1
    end
    result[#result + 1] = verdict
    at = at + 2
  end
end

-- Not before: after the first write of a script Redis no longer refuses for want of memory.
if ARGV[4] ~= '' then redis.call('XTRIM', replies, 'MINID', ARGV[4]) end
redis.call('HSET', client, 'number', number, 'result', cmsgpack.pack(result))
redis.call('PEXPIRE', client, ttl)
redis.call('PEXPIRE', replies, ttl)
return result
