-- A client's heartbeat, while it waits for answers: keeps its keys alive, and tells whether they still were.
--
-- KEYS  the client, its replies
-- ARGV  TTL of the client in ms, id up to which it has read its replies ('' for none)
--
-- Returns  1, or 0 when the client had been given up: what was answered meanwhile is lost
if ARGV[2] ~= '' then redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2]) end
redis.call('PEXPIRE', KEYS[2], ARGV[1])
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 1 then return 1 end
redis.call('HSET', KEYS[1], 'back', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 0
