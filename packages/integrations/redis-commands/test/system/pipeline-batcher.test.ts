/** Pipelines to a real Redis. */
import { setImmediate } from 'node:timers/promises';
import type { Batcher } from 'batchwise';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, expectTypeOf, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../../redis/test/support/redis-server.js';
import { pipelineBatcher, type RedisCommand } from '../../src/index.js';

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis?.disconnect();
  await server?.stop();
});
beforeEach(async () => {
  await redis.flushall();
});

async function statistic(section: string, name: string): Promise<number> {
  const info = await redis.info(section);
  return Number(new RegExp(`^${name}:(?:calls=)?(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}

test('commands that are submitted together are one pipeline, and each caller gets its own reply', async () => {
  const commands = pipelineBatcher(redis);
  const readsBefore = await statistic('stats', 'total_reads_processed');
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, i) => commands.submit(['INCRBY', `counter ${i % 10}`, i])),
  );
  // One for INFO itself.
  expect((await statistic('stats', 'total_reads_processed')) - readsBefore).toBe(2);
  const sums = new Map<number, number>();
  for (const [i, reply] of replies.entries()) {
    sums.set(i % 10, (sums.get(i % 10) ?? 0) + i);
    expect(reply).toBe(sums.get(i % 10));
  }
});

test('the error of a command fails its caller alone', async () => {
  const commands = pipelineBatcher(redis);
  const [set, wrongType, unknown, tooFew, get] = await Promise.allSettled([
    commands.submit(['SET', 'text', 'abc']),
    commands.submit(['LPUSH', 'text', 'x']),
    commands.submit(['NOSUCHCOMMAND', 'x']),
    commands.submit(['GET']),
    commands.submit(['GET', 'text']),
  ]);
  expect(set).toMatchObject({ value: 'OK' });
  expect(wrongType).toMatchObject({ reason: { name: 'ReplyError', message: /^WRONGTYPE/ } });
  expect(unknown).toMatchObject({ reason: { name: 'ReplyError', message: /unknown command/ } });
  expect(tooFew).toMatchObject({ reason: { message: /wrong number of arguments/ } });
  expect(get).toMatchObject({ value: 'abc' });
});

test('replies and key prefixes are those of the methods of ioredis', async () => {
  const prefixed = new Redis(server.url, { keyPrefix: 'app:' });
  try {
    const commands = pipelineBatcher(prefixed);
    await commands.submitMany([
      ['HSET', 'hash', 'a', 1, Buffer.from('b'), Buffer.from('ü')],
      ['RPUSH', 'list', 'x', 'y'],
    ]);
    expect(
      await commands.submitMany([
        ['HGETALL', 'hash'],
        ['LRANGE', 'list', 0, -1],
        ['GET', 'none'],
        ['EXISTS', 'list'],
      ]),
    ).toEqual([{ a: '1', b: 'ü' }, ['x', 'y'], null, 1]);
    expect((await redis.keys('*')).sort()).toEqual(['app:hash', 'app:list']);
  } finally {
    prefixed.disconnect();
  }
});

test('a batcher for one kind of command has the type of its replies', () => {
  expectTypeOf(pipelineBatcher<string | null>(redis)).toEqualTypeOf<Batcher<RedisCommand, string | null>>();
  expectTypeOf(pipelineBatcher(redis)).toEqualTypeOf<Batcher<RedisCommand, unknown>>();
});

test('commands are executed in the order of submission, over several pipelines', async () => {
  const commands = pipelineBatcher(redis, { maxBatchSize: 7 });
  const replies = Array.from({ length: 50 }, (_, i) => commands.submit(['RPUSH', 'list', i]));
  expect(await Promise.all(replies)).toEqual(replies.map((_, i) => i + 1));
  expect(await redis.lrange('list', 0, -1)).toEqual(replies.map((_, i) => String(i)));
  expect(commands.stats().batches).toBe(Math.ceil(50 / 7));
});

test('a caller that gives up is told at once; its command and those of its neighbours are executed', async () => {
  const commands = pipelineBatcher(redis);
  const abort = new AbortController();
  server.pause();
  try {
    const cancelled = commands.submit(['SET', 'cancelled', 1], { signal: abort.signal });
    const neighbour = commands.submit(['SET', 'neighbour', 1]);
    // Both are in the pipeline that Redis does not answer yet.
    while (commands.stats().running < 2) await setImmediate();
    abort.abort();
    await expect(cancelled).rejects.toMatchObject({ code: 'CANCELLED' });
    server.resume();
    expect(await neighbour).toBe('OK');
  } finally {
    server.resume();
  }
  expect(await redis.get('cancelled')).toBe('1');
});

test('without a connection each command gets the error of ioredis, and close() ends', async () => {
  const lost = new Redis(server.url, { lazyConnect: true });
  await lost.connect();
  const commands = pipelineBatcher(lost);
  lost.disconnect();
  const calls = [commands.submit(['GET', 'a']), commands.submit(['GET', 'b'])];
  for (const call of calls) await expect(call).rejects.toThrow('Connection is closed.');
  await commands.close();
});

test('close() waits for the replies of all commands', async () => {
  const commands = pipelineBatcher(redis, { maxBatchSize: 10 });
  const replies = Promise.all(Array.from({ length: 55 }, () => commands.submit(['INCR', 'n'])));
  await commands.close();
  expect(await redis.get('n')).toBe('55');
  await replies;
});
