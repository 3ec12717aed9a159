-- Puts dead letters back into the queue, as fresh items: at the end, with all their deliveries, and without a time-out,
-- because nobody waits for them any more. What is no longer a dead letter is left alone.
--
-- KEYS  the three streams of requests (high, normal, low), the dead letters
-- ARGV  the ids of the letters
--
-- Returns  for each 1 when it was put back, else 0
local LEVELS = { ['1'] = 1, ['2'] = 2, ['3'] = 3 }
local dead = KEYS[4]
local result = {}
for i = 1, #ARGV do
  local letter = redis.call('XRANGE', dead, ARGV[i], ARGV[i])[1]
  result[i] = letter and 1 or 0
  if letter then
    local fields = letter[2]
    local level = 2 -- also of a letter that does not say, or nonsense
    for at = 3, #fields, 2 do
      if fields[at] == 'level' then level = LEVELS[fields[at + 1]] or level end
    end
    local header = string.gsub(fields[1], '%S+$', '0')
    redis.call('XADD', KEYS[level], '*', header, fields[2])
    redis.call('XDEL', dead, ARGV[i])
  end
end
if redis.call('XLEN', dead) == 0 then redis.call('DEL', dead) end
return result
