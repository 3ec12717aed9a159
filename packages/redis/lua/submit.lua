-- Lets a client's items into the queue, as far as there is room, in one step.
--
-- A submission has a number. The result of a client's last one is kept: when the connection broke before
-- the client heard it, the client sends the same submission again and is told, and nothing is done twice.
--
-- A caller who is alone waits for each call that is made here: none is made whose answer is not needed.
--
-- KEYS  the three streams of requests (high, normal, low), the client, its replies, the rate
-- ARGV  number of the submission, TTL of the client in ms, most that may be outstanding,
--       time of Redis in ms at which the client sent this ('' when it does not know, or no item has a time-out),
--       how many items for each of the three streams, then header and payload of each, stream by stream
-- A header is 'client number timeoutMs', the time-out 0 for none, and negative when it has passed already. What the
-- submission took to get here, in a socket or in a Redis that was busy, counts towards it. A time-out counts from the id of
-- its item. Where the clock has gone back (a failover), ids go on from the last one and are ahead of the time: then the
-- header is 'client number time timeoutMs'.
--
-- Returns  in one text: 1 when the client was known (0: it is new, or had been given up, and what was answered meanwhile
--          is lost), rate in items a second (0 when unknown, or nobody was refused), time of Redis in ms (0 when it was
--          not asked for), the first id in each stream ('-' for none), and for each item that was refused: its position
--          from 0, a colon, and 0 for no room, -1 for a time-out that has passed, or how many are ahead of it when
--          there is no hope to be answered within its time-out
local call = redis.call
local client, number, ttl = KEYS[4], ARGV[1], ARGV[2]

-- '<number of the last submission> <number of the beat that found it given up> <result>': see keep.lua.
local kept = call('GET', client)
local is_known, back = '0', ''
if kept then
  local last, beat, result = string.match(kept, '^(%d*) (%d*) (.*)$')
  if last == number then
    call('PEXPIRE', client, ttl)
    return result
  end
  -- On a connection that the client had given up, and overtaken by its next: carried out before, or never to be.
  if last ~= '' and tonumber(last) > tonumber(number) then
    return redis.error_reply('OVERTAKEN submission ' .. number .. ' comes after ' .. last)
  end
  is_known, back = '1', beat
end

local now, delay = 0, 0
if ARGV[4] ~= '' then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
  delay = math.max(0, now - tonumber(ARGV[4]))
end

local lengths = { call('XLEN', KEYS[1]), call('XLEN', KEYS[2]), call('XLEN', KEYS[3]) }
local room = tonumber(ARGV[3]) - lengths[1] - lengths[2] - lengths[3]
local rate
local firsts, refused = { '-', '-', '-' }
-- By levels, whether ids are ahead. They are given by the clock, and `now` is when the script began: that takes no second.
local is_ahead = {}
local function with_time(header) return (string.gsub(header, '%S+$', string.format('%.0f', now) .. ' %0')) end
local at, position = 8, 0
-- Of the levels above and its own: those below have to wait for it.
local ahead = 0
for level = 1, 3 do
  ahead = ahead + lengths[level]
  for _ = 1, tonumber(ARGV[4 + level]) do
    local header = ARGV[at]
    local has_room, has_hope, left = room > 0, true
    if string.sub(header, -2) ~= ' 0' then
      local timeout = string.match(header, '%S+$')
      left = tonumber(timeout) - delay
      if delay > 0 then header = string.sub(header, 1, -1 - #timeout) .. string.format('%.0f', left) end
    end
    if (not has_room or ahead > 0) and not rate then rate = tonumber(call('GET', KEYS[6]) or '0') end
    if left and has_room and ahead > 0 and rate > 0 then has_hope = ahead / rate * 1000 <= left end
    if left and left <= 0 then
      refused = refused or {}
      refused[#refused + 1] = ' ' .. position .. ':-1'
    elseif has_room and has_hope then
      -- The first id is Redis' own choice; those after it follow without a gap, so one id tells them all.
      local first = firsts[level]
      local id = first == '-' and '*' or string.match(first, '^%d+') .. '-*'
      if left and is_ahead[level] then header = with_time(header) end
      local added = call('XADD', KEYS[level], id, header, ARGV[at + 1])
      if id == '*' then
        local ms = string.match(added, '^%d+')
        is_ahead[level] = now > 0 and tonumber(ms) > now + 1000
        if left and is_ahead[level] then
          call('XDEL', KEYS[level], added)
          added = call('XADD', KEYS[level], ms .. '-*', with_time(header), ARGV[at + 1])
        end
        firsts[level] = added
      end
      room = room - 1
      ahead = ahead + 1
    else
      refused = refused or {}
      refused[#refused + 1] = ' ' .. position .. ':' .. (has_room and ahead or 0)
    end
    position = position + 1
    at = at + 2
  end
end

-- Not before: after the first write of a script Redis no longer refuses for want of memory.
local result = is_known .. ' ' .. (rate or 0) .. ' ' .. string.format('%.0f', now) .. ' ' .. firsts[1] .. ' ' .. firsts[2] .. ' ' .. firsts[3]
if refused then result = result .. table.concat(refused) end
call('SET', client, number .. ' ' .. back .. ' ' .. result, 'PX', ttl)
call('PEXPIRE', KEYS[5], ttl)
return result
