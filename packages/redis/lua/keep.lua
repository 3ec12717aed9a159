-- A client's heartbeat, while it waits for answers: keeps its keys alive, and tells whether they still were.
--
-- KEYS  the client, its replies
-- ARGV  TTL of the client in ms, number of the beat
--
-- Returns  1, or 0 when the client had been given up: what was answered meanwhile is lost
redis.call('PEXPIRE', KEYS[2], ARGV[1])
local kept = redis.call('GET', KEYS[1])
if kept then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
  -- Asked again after a lost connection, it is told the same.
  return string.match(kept, '^%d* (%d*) ') == ARGV[2] and 0 or 1
end
-- As submit.lua keeps it: no submission yet, this beat, no result.
redis.call('SET', KEYS[1], ' ' .. ARGV[2] .. ' ', 'PX', ARGV[1])
return 0
