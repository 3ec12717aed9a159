/** What a review of the processor found. Each opens with its root cause. */
import { greedy } from 'batchwise';
import { expect, test } from 'vitest';
import { RedisBatcher, RedisProcessor } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { startRedis } from '../support/redis-server.js';

// All answers of a turn to one client were one payload: above Redis' limit it ended the connection, and they were sent
// again for ever.
test('answers that are too large together are written apart; one that is too large alone is an error of its item', async () => {
  const redis = await forThisTest(startRedis({ settings: ['proto-max-bulk-len 1mb'] }));
  const options = { url: redis.url, queue: 'large' };
  const sizes = (items: number[]) => items.map((size) => 'x'.repeat(size));
  await forThisTest(new RedisProcessor(sizes, options));
  const batcher = await forThisTest(new RedisBatcher<number, string>(options));
  const many = await Promise.all(Array.from({ length: 8 }, () => batcher.submit(200_000)));
  expect(many.map(({ length }) => length)).toEqual(Array(8).fill(200_000));
  const [small, large] = await Promise.allSettled([batcher.submit(10), batcher.submit(2_000_000)]);
  expect(small).toMatchObject({ status: 'fulfilled', value: 'xxxxxxxxxx' });
  expect(large).toMatchObject({
    reason: { code: 'BAD_RESULT', message: expect.stringContaining('Redis rejected the result') },
  });
});

// What was fetched was one batch's worth over all groups, so that each group's batches were a fraction of that.
test('batches are full though there are many groups', async () => {
  const redis = await forThisTest(startRedis());
  const options = { url: redis.url, queue: 'groups' };
  const batcher = await forThisTest(new RedisBatcher<number, number>(options));
  const answers = Array.from({ length: 2000 }, (_, i) => batcher.submit(i));
  await eventually(
    'all to be queued',
    async () => Number(await redis.cli('XLEN', 'batchwise:{groups}:requests:normal')) === 2000,
  );
  const handler = async (items: number[]) => items;
  const groupOf = (item: number) => item % 8;
  // Not the adaptive policy: it prefers small batches if a large one happened to take long while its size was tried.
  const batching = { maxBatchSize: 16, groupOf, policy: greedy() };
  const processor = await forThisTest(new RedisProcessor(handler, { ...options, ...batching }));
  await Promise.all(answers);
  // The first fetch knows of no groups: two items of each. Then 16 of each, 15 times, and 8 of each at the end: at most
  // 17 batches of each group, whenever the fetches arrive. Most batches were of 2 items, so that it was about 100 of each.
  expect(processor.stats().batches).toBeLessThanOrEqual(8 * 17);
});

// The rate of small batches was published as what the processor can do, and callers were refused for it.
test('after lone calls, many at once are not refused for a rate that only small batches have', async () => {
  const redis = await forThisTest(startRedis());
  const options = { url: redis.url, queue: 'rate' };
  const handler = (items: number[]) =>
    new Promise<number[]>((resolve) => setTimeout(() => resolve(items), 50));
  await forThisTest(new RedisProcessor(handler, { ...options, maxBatchSize: 64, leaseMs: 200 }));
  const batcher = await forThisTest(new RedisBatcher<number, number>(options));
  for (let i = 0; i < 5; i++) await batcher.submit(i); // several heartbeats
  // By the rate of batches of one, 20 a second, most of these would be seconds too late.
  const answers = await Promise.allSettled(
    Array.from({ length: 300 }, (_, i) => batcher.submit(i, { timeoutMs: 5000 })),
  );
  expect(answers.filter(({ status }) => status === 'rejected')).toEqual([]);
});

// Each cancelled item was looked for by going through all that are held.
test('a wave of cancellations does not block the processor', async () => {
  const redis = await forThisTest(startRedis());
  const options = { url: redis.url, queue: 'wave' };
  const controller = new AbortController();
  let signalled = 0;
  const handler = (items: number[], { signal }: { signal: AbortSignal }) =>
    new Promise<number[]>((resolve) => {
      signal.addEventListener('abort', () => {
        signalled += items.length;
        resolve(items);
      });
    });
  const processor = await forThisTest(
    new RedisProcessor(handler, { ...options, maxBatchSize: 1000, concurrency: 4 }),
  );
  const batcher = await forThisTest(new RedisBatcher<number, number>(options));
  const answers = Array.from({ length: 4000 }, (_, i) => batcher.submit(i, { signal: controller.signal }));
  const settled = Promise.allSettled(answers);
  await eventually('all to be running', () => processor.stats().running === 4000);
  controller.abort();
  await settled;
  await eventually('all to be told', () => signalled === 4000);
  expect(processor.stats()).toMatchObject({ running: 0, cancelled: 4000 });
});
