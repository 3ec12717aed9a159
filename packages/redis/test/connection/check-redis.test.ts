import { expect, test } from 'vitest';
import { checkRedis } from '../../src/connection/check-redis.js';
import { type RedisLink, type Reply, ReplyError } from '../../src/connection/link.js';

function linkThatSays(answer: (section: string) => Reply): RedisLink {
  return {
    send: async (_key: string, command: readonly unknown[]) => answer(String(command[1])),
  } as unknown as RedisLink;
}

function redis({ version = '7.0.15', policy = 'noeviction' }): RedisLink {
  return linkThatSays((section) =>
    section === 'server'
      ? `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`
      : Buffer.from(`# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:${policy}\r\n`),
  );
}

test.each(['7.0.0', '7.0.15', '7.4.1', '8.0', '10.2.3'])(
  'Redis %s without eviction will do',
  async (version) => {
    await expect(checkRedis(redis({ version }), 'k')).resolves.toBeUndefined();
  },
);

test.each(['6.2.14', '5.0', '0.9'])('Redis %s is too old', async (version) => {
  await expect(checkRedis(redis({ version }), 'k')).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: `Redis: expected Redis 7.0 or later, got ${version}.`,
  });
});

test.each(['allkeys-lru', 'volatile-ttl'])(
  'a Redis with %s is refused with the reason and the remedy',
  async (policy) => {
    const check = checkRedis(redis({ policy }), 'k');
    await expect(check).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    await expect(check).rejects.toThrow(policy);
    await expect(check).rejects.toThrow(
      /silently evict accepted requests.*CONFIG SET maxmemory-policy noeviction/,
    );
  },
);

test('a user who may not ask is told which permission is wanted', async () => {
  const link = linkThatSays(() => {
    throw new ReplyError("NOPERM this user has no permissions to run the 'info' command");
  });
  await expect(checkRedis(link, 'k')).rejects.toThrow(/NOPERM.*ACL SETUSER <user> \+info/);
});

test('another error is passed on as it is', async () => {
  const error = new ReplyError('ERR something else');
  const link = linkThatSays(() => {
    throw error;
  });
  await expect(checkRedis(link, 'k')).rejects.toBe(error);
});
