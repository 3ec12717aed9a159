/** What others write into a queue's keys, or what is damaged there, fails at most the call that it names. */
import { randomUUID } from 'node:crypto';
import { RedisBatcher, RedisProcessor } from '@batchwise/redis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** A client, and a processor that answers what `release()` lets it. */
async function held(payload: 'json' | 'msgpack') {
  const queue = `q-${randomUUID()}`;
  const batcher = new RedisBatcher<string, string>({ url: redis.url, queue, payload });
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let started = () => {};
  const isRunning = new Promise<void>((resolve) => {
    started = resolve;
  });
  const processor = new RedisProcessor<string, string>(
    async (items) => {
      started();
      await released;
      return items;
    },
    { url: redis.url, queue, payload },
  );
  onTestFinished(() => {
    batcher.destroy();
    processor.destroy();
  });
  await processor.ready;
  return { batcher, isRunning, release };
}

test.each(['json', 'msgpack'] as const)(
  'a forged reply fails the call that it names: %s',
  async (payload) => {
    const { batcher, isRunning, release } = await held(payload);
    const calls = ['a', 'b', 'c'].map((item) => batcher.submit(item));
    const settled = Promise.allSettled(calls);
    await isRunning;
    const replies = batcher.keys.replies + batcher.clientId;
    const forged = [
      ['a', 'no answers at all'],
      ['a', '[[2,null,{"name":"Error","message":"m","cause":null}]]'],
      ['a', '[[1],[2],[3]'],
      ['a', '[null,{},[],["1"],[1e400],[0.5]]'],
      ['unknown', '1 3 0-1'],
      ['dead', ''],
      ['dead', 'x y z'],
      ['a', ''],
    ];
    for (const [field, value] of forged) await redis.cli('XADD', replies, '*', field ?? '', value ?? '');
    release();
    const [a, b, c] = await settled;
    expect(a).toEqual({ status: 'fulfilled', value: 'a' });
    expect(c).toEqual({ status: 'fulfilled', value: 'c' });
    if (payload === 'json')
      expect(b).toMatchObject({ status: 'rejected', reason: { name: 'Error', message: 'm' } });
    else expect(b).toEqual({ status: 'fulfilled', value: 'b' });
  },
);

test.each(['json', 'msgpack'] as const)('forged items disturb no others: %s', async (payload) => {
  const { batcher, release } = await held(payload);
  release();
  await batcher.submit('first');
  const forged = [
    ['no header', 'x'],
    ['', ''],
    [`${batcher.clientId} NaN 0`, '"x"'],
    [`${batcher.clientId} 1e99 0`, '{'],
    [`${payload}-somebody 1 -5`, '{"a":'],
    ['__proto__-1 1 0', '"x"'],
    ['bytes-1 1 99999999999999999999', 'x'],
  ];
  for (const stream of batcher.keys.requests) {
    for (const [header, value] of forged) await redis.cli('XADD', stream, '*', header ?? '', value ?? '');
  }
  const items = Array.from({ length: 20 }, (_, i) => `item ${i}`);
  expect(await Promise.all(items.map((item, i) => batcher.submit(item, { priority: (i % 3) - 1 })))).toEqual(
    items,
  );
  await expect.poll(() => redis.cli('XLEN', batcher.keys.requests[2])).toBe('0');
});
