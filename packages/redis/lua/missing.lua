#!lua flags=no-writes
-- Which of a client's items nobody will execute any more: they are not in the queue, or were delivered and are not pending
-- (XACK, XGROUP DELCONSUMER or SETID of somebody else). The header is compared as well: after a failover to a replica that
-- lagged behind, ids are assigned a second time.
--
-- KEYS  the three streams of requests (high, normal, low)
-- ARGV  the group, the client's id, then level, id and number of each item
--
-- Returns  for each 1 when it is missing, else 0
local group, client = ARGV[1], ARGV[2]

-- The id up to which items were delivered; 0-0 as long as there is no group.
local function delivered_up_to(stream)
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local fields = {}
    for i = 1, #info, 2 do fields[info[i]] = info[i + 1] end
    if fields['name'] == group then return fields['last-delivered-id'] end
  end
  return '0-0'
end

local function is_after(id, other)
  local ms, number = string.match(id, '(%d+)-(%d+)')
  local other_ms, other_number = string.match(other, '(%d+)-(%d+)')
  if ms ~= other_ms then return tonumber(ms) > tonumber(other_ms) end
  return tonumber(number) > tonumber(other_number)
end

local delivered = {}
local function is_waiting_or_held(level, id)
  local stream = KEYS[level]
  delivered[level] = delivered[level] or delivered_up_to(stream)
  return is_after(id, delivered[level]) or #redis.call('XPENDING', stream, group, id, id, 1) > 0
end

local result = {}
for i = 3, #ARGV, 3 do
  local level, id = tonumber(ARGV[i]), ARGV[i + 1]
  local found = redis.pcall('XRANGE', KEYS[level], id, id)
  -- What was overwritten by a value of another type is lost as well.
  if found.err and not string.find(found.err, '^WRONGTYPE') then return found end
  local entry = found[1]
  local own = client .. ' ' .. ARGV[i + 2] .. ' '
  local is_own = entry and string.sub(entry[2][1], 1, #own) == own
  result[#result + 1] = is_own and is_waiting_or_held(level, id) and 0 or 1
end
return result
