-- Deletes the replies that a client has read, up to and including one of them. That one is named by its id and its token:
-- after a failover to a replica that lagged behind, the same id may be a reply that was not read. A reply that is
-- the same one follows the same replies.
--
-- KEYS  the client's replies
-- ARGV  id and token of the reply, and the id after it
local entry = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if entry and (entry[2][4] or '') == ARGV[2] then redis.call('XTRIM', KEYS[1], 'MINID', ARGV[3]) end
return 1
