-- Throws dead letters away.
--
-- KEYS  the dead letters
-- ARGV  their ids
--
-- Returns  for each 1 when it was there, else 0
local result = {}
for i = 1, #ARGV do result[i] = redis.call('XDEL', KEYS[1], ARGV[i]) end
if redis.call('XLEN', KEYS[1]) == 0 then redis.call('DEL', KEYS[1]) end
return result
