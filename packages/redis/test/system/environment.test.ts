/** All of the package find Redis by the environment where no option names it. */
import { RedisBatcher, RedisProcessor, RedisQueue } from '@batchwise/redis';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis({ settings: ['requirepass secret'] });
});
afterAll(() => redis.stop());
afterEach(() => {
  vi.unstubAllEnvs();
});

function all(options: { readonly url?: string; readonly password?: string; readonly queue?: string }) {
  const batcher = new RedisBatcher<number, number>(options);
  const processor = new RedisProcessor((items: number[]) => items.map((item) => 2 * item), options);
  const queue = new RedisQueue(options);
  onTestFinished(async () => {
    batcher.destroy();
    processor.destroy();
    await queue.close();
  });
  return { batcher, queue };
}

test('host, port, database, password and queue', async () => {
  vi.stubEnv('REDIS__HOST', '127.0.0.1');
  vi.stubEnv('REDIS__PORT', String(redis.port));
  vi.stubEnv('REDIS__DB', '3');
  vi.stubEnv('REDIS__PASSWORD', 'secret');
  vi.stubEnv('REDIS__STREAM_KEY_REQUEST', 'asked');
  const { batcher, queue } = all({});
  expect(await batcher.submit(21, { timeoutMs: 10_000 })).toBe(42);
  expect(await queue.status()).toMatchObject({ queue: 'asked', processors: [{}] });
  expect(await redis.cli('-n', 3, 'EXISTS', 'batchwise:{asked}:processors')).toBe('1');
});

test('an option goes before the environment', async () => {
  vi.stubEnv('REDIS__HOST', 'not.a.host.invalid');
  vi.stubEnv('REDIS__PASSWORD', 'wrong');
  vi.stubEnv('REDIS__STREAM_KEY_REQUEST', 'asked');
  const { batcher, queue } = all({ url: redis.url, password: 'secret', queue: 'own' });
  expect(await batcher.submit(21, { timeoutMs: 10_000 })).toBe(42);
  expect(await queue.status()).toMatchObject({ queue: 'own', processors: [{}] });
});
