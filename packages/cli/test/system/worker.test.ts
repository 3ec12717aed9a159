/** `batchwise worker` as its users start it: real processes on a real Redis. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { RedisBatcher, RedisQueue } from '@batchwise/redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { largest, samplesOf } from './support/model-samples.js';
import { model } from './support/serving.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

let redis: RedisServer;
let number = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

/** Of the test's own. */
function queueName(): string {
  number += 1;
  return `worker-${number}`;
}

function client<I, R>(queue: string, url = redis.url, more: { database?: number } = {}): RedisBatcher<I, R> {
  const batcher = new RedisBatcher<I, R>({ url, queue, ...more });
  onTestFinished(() => batcher.destroy());
  return batcher;
}

/** Says whose process it was, and fails what it is told to. */
const ECHO = `
  export const handler = (items) => items.map((item) => (item === 'bad' ? new RangeError('not this one') : { item, pid: process.pid }));
`;

/** Answers when the file \`open\` is there. */
const GATED = `
  import { existsSync } from 'node:fs';
  export async function handler(items) {
    while (!existsSync('open')) await new Promise((resolve) => setTimeout(resolve, 5));
    return items.map((item) => ({ item, pid: process.pid }));
  }
`;

describe('a module with a handler', () => {
  test('answers each caller', async () => {
    const queue = queueName();
    const worker = await Working.worker(['handler.mjs', '--queue', queue, '--url', redis.url], {
      files: { 'handler.mjs': ECHO },
    });
    const items = client<string, { item: string; pid: number }>(queue);
    const [good, bad] = await Promise.allSettled([items.submit('good'), items.submit('bad')]);

    expect(good).toEqual({ status: 'fulfilled', value: { item: 'good', pid: worker.pid } });
    expect(bad).toMatchObject({
      status: 'rejected',
      reason: { name: 'RangeError', message: 'not this one' },
    });
    await worker.said(
      /^BatchProcessor start: delay=0\.001, batch_size=64 batch_time=adaptive\nbatch start: \d+\.\d{3}, [12]\/64 \(\w+\)\n/,
    );
  });

  test('in TypeScript: an object as default export, options and close()', async () => {
    const queue = queueName();
    const code = `
      import { writeFileSync } from 'node:fs';
      import { BatchwiseError } from 'batchwise';
      class Doubler {
        readonly factor: number = 2;
        async processBatch(items: readonly number[]): Promise<(number | Error)[]> {
          return items.map((item) => item < 0 ? new BatchwiseError('INVALID_ITEM', 'below zero') : this.factor * item);
        }
      }
      export default new Doubler();
      export const options = { maxBatchSize: 3, maxWaitMs: 1 };
      export const close = () => writeFileSync('closed', '');
    `;
    const worker = await Working.worker(['doubler.ts', '--queue', queue, '--url', redis.url], {
      files: { 'doubler.ts': code },
    });
    const doubled = client<number, number>(queue);

    expect(await doubled.submitMany([1, 2, 3, 4, 5])).toEqual([2, 4, 6, 8, 10]);
    await expect(doubled.submit(-1)).rejects.toMatchObject({ code: 'INVALID_ITEM' });
    expect(worker.batches.every((line) => /, [123]\/3 \(/.test(line))).toBe(true);
    worker.signal('SIGTERM');
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(existsSync(join(worker.folder, 'closed'))).toBe(true);
  });

  test('that throws is logged, and the worker continues', async () => {
    const queue = queueName();
    const worker = await Working.worker(['h.mjs', '--queue', queue, '--url', redis.url, '--verbose'], {
      files: {
        'h.mjs':
          'export default (items) => { if (items.includes(0)) throw new Error("boom"); return items; };',
      },
    });
    const items = client<number, number>(queue);

    await expect(items.submit(0)).rejects.toMatchObject({ code: 'HANDLER_FAILED' });
    expect(await items.submit(1)).toBe(1);
    await worker.said(/^error: a batch of 1 failed: boom$/m);
    await worker.said(/^batch end: \d+\.\d{3}, 0 answered, 1 failed$/m);
    await worker.said(/^batch end: \d+\.\d{3}, 1 answered, 0 failed$/m);
  });

  test('--quiet logs no batches', async () => {
    const queue = queueName();
    const worker = await Working.worker(['h.mjs', '--queue', queue, '--url', redis.url, '--quiet'], {
      files: { 'h.mjs': ECHO },
    });
    await client(queue).submit('x');
    worker.signal('SIGINT');
    await worker.exit;
    expect(worker.stdout).toBe('BatchProcessor start: delay=0.001, batch_size=64 batch_time=adaptive\n');
  });
});

describe("dynamic_batcher's settings", () => {
  test('environment: host, port, database, password, queue, batch size and time', async () => {
    const locked = await startRedis({ settings: ['requirepass secret'] });
    onTestFinished(() => locked.stop());
    const worker = await Working.worker(['h.mjs'], {
      files: { 'h.mjs': ECHO },
      env: {
        REDIS__HOST: '127.0.0.1',
        REDIS__PORT: String(locked.port),
        REDIS__DB: '3',
        REDIS__PASSWORD: 'secret',
        REDIS__STREAM_KEY_REQUEST: 'asked',
        DYNAMIC_BATCHER__BATCH_SIZE: '64',
        DYNAMIC_BATCHER__BATCH_TIME: '0.25',
      },
    });
    const items = client<number, unknown>('asked', `redis://:secret@127.0.0.1:${locked.port}`, {
      database: 3,
    });

    await items.submit(1);
    await Promise.all(Array.from({ length: 100 }, (_, i) => items.submit(i)));
    expect(worker.stdout).toMatch(/^BatchProcessor start: delay=0\.001, batch_size=64 batch_time=0\.25\n/);
    const sizeOf = (line: string) => Number(/^batch start: \d+\.\d{3}\/0\.25, (\d+)\/64$/.exec(line)?.[1]);
    const batched = () => worker.batches.reduce((sum, line) => sum + sizeOf(line), 0);
    await until(() => batched() >= 101, 'all batches are told of');
    const [lone, ...crowd] = worker.batches;
    const [, waited] = /^batch start: (\d+\.\d{3})\/0\.25, 1\/64$/.exec(lone ?? '') ?? [];
    expect(Number(waited)).toBeGreaterThanOrEqual(0.249); // a window ends early by up to a tick of the timer
    const sizes = crowd.map(sizeOf);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(64);
  });

  test('flags override the environment, also short ones', async () => {
    const worker = await Working.worker(['h.mjs', '-bs', '8', '-bt', '1e3', '--url', redis.url], {
      files: { 'h.mjs': ECHO },
      env: {
        REDIS__HOST: 'nowhere.invalid',
        DYNAMIC_BATCHER__BATCH_SIZE: '64',
        DYNAMIC_BATCHER__BATCH_TIME: '2',
      },
    });
    const items = client<number, unknown>('request');
    await Promise.all(Array.from({ length: 8 }, (_, i) => items.submit(i)));

    expect(worker.stdout).toMatch(/^BatchProcessor start: delay=0\.001, batch_size=8 batch_time=1000\n/);
    await worker.said(/^batch start: \d+\.\d{3}\/1000, 8\/8$/m);
  });

  test('--policy overrides the batch time of the environment', async () => {
    const queue = queueName();
    const worker = await Working.worker(
      ['h.mjs', '--policy', 'greedy', '--queue', queue, '--url', redis.url],
      { files: { 'h.mjs': ECHO }, env: { DYNAMIC_BATCHER__BATCH_TIME: '3600' } },
    );
    await client(queue).submit(1);
    await worker.said(/batch_time=greedy\nbatch start: \d+\.\d{3}, 1\/64 \(idle\)\n/);
  });
});

describe('a model', () => {
  test('answers rows with predictions, and an invalid row with an error', async () => {
    const queue = queueName();
    await Working.worker([model('iris'), '--queue', queue, '--url', redis.url, '--max-batch-size', '16']);
    const flowers = client<readonly number[], number[]>(queue);
    const samples = samplesOf('iris');
    const asked = samples.map(({ input }) => flowers.submit(input));
    const short = flowers.submit([1, 2]);

    await expect(short).rejects.toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringContaining('row'),
    });
    for (const [i, predicted] of (await Promise.all(asked)).entries()) {
      expect(largest(predicted)).toBe(largest(samples[i]?.probabilities ?? []));
      expect(predicted).toHaveLength(3);
    }
  });
});

describe("a service's runner", () => {
  const SERVICE = `
    import { defineService, fn, onnx } from '@batchwise/server';
    export const service = defineService({
      runners: {
        squares: fn((numbers: number[]) => numbers.map((n) => n * n), {
          batchable: true,
          batching: { maxBatchSize: 5, policy: 'window', maxWaitMs: 20 },
        }),
        single: fn((items: unknown[]) => [items.length]),
        iris: onnx(${JSON.stringify(model('iris'))}, { batchable: true, batching: { maxBatchSize: 7 } }),
      },
      routes: () => [],
    });
  `;
  const files = { 'service.ts': SERVICE };

  test('that is a function has the settings of the service', async () => {
    const queue = queueName();
    const worker = await Working.worker(['service.ts#squares', '--queue', queue, '--url', redis.url], {
      files,
    });
    expect(await client<number, number>(queue).submitMany([1, 2, 3, 4, 5])).toEqual([1, 4, 9, 16, 25]);
    expect(worker.stdout).toMatch(/batch_size=5 batch_time=0\.02\n/);
  });

  test('that is not batchable gets one item at a time', async () => {
    const queue = queueName();
    await Working.worker(['service.ts#single', '--queue', queue, '--url', redis.url], { files });
    expect(await client<string, number>(queue).submitMany(['a', 'b', 'c'])).toEqual([1, 1, 1]);
  });

  test('that is a model answers rows', async () => {
    const queue = queueName();
    const worker = await Working.worker(['service.ts#iris', '--queue', queue, '--url', redis.url], { files });
    const [sample] = samplesOf('iris');
    const predicted = await client<readonly number[], number[]>(queue).submit(sample?.input ?? []);
    expect(largest(predicted)).toBe(largest(sample?.probabilities ?? []));
    expect(worker.stdout).toMatch(/batch_size=7 /);
  });

  test.each([
    ['service.ts#other', /^error: service\.ts has no runner "other"\. It has squares, single, iris\.$/m],
    [
      'service.ts#single',
      /^error: service\.ts: the runner single is not batchable, so its batch size cannot be 8/m,
    ],
    ['gone.ts#iris', /^error: There is no service module gone\.ts\.$/m],
  ])('%s is rejected', async (what, message) => {
    const worker = new Working(['worker', what, '-bs', '8', '--url', redis.url], { files });
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(worker.stderr).toMatch(message);
  });
});

describe('signals', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s: the worker finishes its items and leaves the others in the queue',
    async (signal) => {
      const queue = queueName();
      const worker = await Working.worker(['h.mjs', '--queue', queue, '--url', redis.url, '-bs', '1'], {
        files: { 'h.mjs': GATED },
      });
      const items = client<string, { item: string; pid: number }>(queue);
      const first = items.submit('first');
      await worker.said(/batch start/);
      const second = items.submit('second');
      const operator = new RedisQueue({ url: redis.url, queue });
      onTestFinished(() => operator.close());
      await until(async () => (await operator.status()).depth === 2, 'both are in the queue');

      worker.signal(signal);
      await worker.said(`${signal} received. Finishing its items`);
      worker.write('open', '');
      expect(await first).toEqual({ item: 'first', pid: worker.pid });
      expect(await worker.exit).toEqual({ code: 0, signal: null });
      expect(await operator.status()).toMatchObject({ depth: 1, waiting: 1, processors: [] });

      const next = await Working.worker(['h.mjs', '--queue', queue, '--url', redis.url], {
        files: { 'h.mjs': GATED, open: '' },
      });
      expect(await second).toEqual({ item: 'second', pid: next.pid });
    },
  );

  test('a second signal returns the items, which another worker runs at once', async () => {
    const queue = queueName();
    const args = ['h.mjs', '--queue', queue, '--url', redis.url, '--lease-ms', '600000'];
    const worker = await Working.worker(args, { files: { 'h.mjs': GATED } });
    const answer = client<string, { item: string; pid: number }>(queue).submit('held');
    await worker.said(/batch start/);
    worker.signal('SIGTERM');
    await worker.said('SIGTERM received. Finishing');
    worker.signal('SIGTERM');
    expect(await worker.exit).toEqual({ code: 143, signal: null });

    const next = await Working.worker(args, { files: { 'h.mjs': GATED, open: '' } });
    expect(await answer).toEqual({ item: 'held', pid: next.pid });
    await next.said(/^Took over 1 item that a worker returned\.$/m);
  });
});

test('a restart of Redis is logged, and the worker continues', async () => {
  const own = await startRedis({ aof: true, settings: ['appendfsync always'] });
  onTestFinished(() => own.stop());
  const worker = await Working.worker(['h.mjs', '--url', own.url], { files: { 'h.mjs': ECHO } });
  const items = client<number, unknown>('request', own.url);
  await items.submit(1);
  await own.kill();
  await worker.said(/^Redis is unreachable: .*\. The items stay in the queue\.$/m);
  await own.restart();
  await worker.said(/^Redis is reachable again\.$/m);
  expect(await items.submit(2)).toMatchObject({ item: 2, pid: worker.pid });
});

describe('a failed start has a reason in one line', () => {
  const files = { 'h.mjs': ECHO, 'broken.onnx': 'not a model' };

  test.each([
    ['no model', ['broken.onnx', '--url', 'redis://127.0.0.1:1'], /^error: .*broken\.onnx/],
    [
      'a wrong address',
      ['h.mjs', '--url', 'redis://127.0.0.1:1'],
      /^error: Cannot connect to Redis at 127\.0\.0\.1:1: .*ECONNREFUSED/,
    ],
  ])('%s', async (_what, args, message) => {
    const worker = new Working(['worker', ...args], { files });
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(worker.stderr.trimEnd()).toMatch(message);
    expect(worker.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(worker.stdout).toBe('');
  });

  test('a Redis that evicts', async () => {
    const evicting = await startRedis({ settings: ['maxmemory-policy allkeys-lru'] });
    onTestFinished(() => evicting.stop());
    const worker = new Working(['worker', 'h.mjs', '--url', evicting.url], { files });
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(worker.stderr).toMatch(/^error: Redis: expected maxmemory-policy noeviction, got allkeys-lru/);
  });

  test('a wrong password', async () => {
    const locked = await startRedis({ settings: ['requirepass secret'] });
    onTestFinished(() => locked.stop());
    const url = `redis://:wrong@127.0.0.1:${locked.port}`;
    const worker = new Working(['worker', 'h.mjs', '--url', url], { files });
    expect(await worker.exit).toEqual({ code: 1, signal: null });
    expect(worker.stderr).toMatch(/^error: .*refused the connection .*WRONGPASS/);
    expect(worker.stderr).not.toContain('wrong@');
  });
});
