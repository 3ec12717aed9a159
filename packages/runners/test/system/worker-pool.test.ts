/** `workerPool()`: a handler on worker threads behind a batcher. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { type BatchContext, Batcher, type BatcherOptions, VirtualClock } from 'batchwise';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type WorkerPool, type WorkerPoolOptions, workerPool } from '../../src/threads/worker-pool.js';

const file = new URL('../fixtures/pool-model.mjs', import.meta.url);
type Item = Record<string, unknown>;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  vi.restoreAllMocks();
});

function started(options: WorkerPoolOptions = {}, batching: BatcherOptions<Item> = {}) {
  const pool: WorkerPool<Item, Item> = workerPool(file, { threads: 1, ...options });
  const batcher = new Batcher(pool, { concurrency: pool.threads, ...batching });
  open.push(pool, batcher);
  return { pool, batcher };
}

const codeOf = (call: Promise<unknown>) =>
  call.then(
    (value) => ({ value }),
    (error) => ({ code: error.code, cause: error.cause?.name, message: error.message }),
  );

test('batches run on other threads, one for each slot', async () => {
  const { batcher } = started({ threads: 2 }, { maxBatchSize: 1 });
  // The second batch aborts the first one, so both run concurrently.
  const stop = new AbortController();
  const waiting = codeOf(batcher.submit({ untilAborted: true }, { signal: stop.signal }));
  const { on } = await batcher.submit({ id: 1 });
  expect(on).not.toBe(threadId);
  stop.abort();
  expect(await waiting).toMatchObject({ code: 'CANCELLED' });
  const both = await Promise.all([batcher.submit({ id: 2 }), batcher.submit({ id: 3 })]);
  expect(both).toMatchObject([{ id: 2 }, { id: 3 }]);
});

test('the event loop is free while a thread computes, and destroy() and close() end the thread', async () => {
  const { pool, batcher } = started();
  const spinning = codeOf(batcher.submit({ spin: true }));
  await pool.ready;
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  batcher.destroy();
  expect(await spinning).toMatchObject({ code: 'CLOSED' });
  await pool.close();
});

describe('errors', () => {
  test('an error of an item fails only this item', async () => {
    const { batcher } = started();
    const outcomes = await Promise.all([
      codeOf(batcher.submit({ id: 1 })),
      codeOf(batcher.submit({ fail: 'too large' })),
    ]);
    expect(outcomes).toMatchObject([{ value: { id: 1 } }, { message: 'too large' }]);
  });

  test('an error thrown by the handler is the cause of HANDLER_FAILED', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { batcher } = started();
    expect(await codeOf(batcher.submit({ throw: 'broken' }))).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: 'TypeError',
      message: expect.stringContaining('broken'),
    });
    expect(await batcher.submit({ id: 1 })).toMatchObject({ id: 1 });
  });

  test('a thread that ends fails its batch and is replaced', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    const { batcher } = started();
    expect(await codeOf(batcher.submit({ exit: 3 }))).toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('exit code 3'),
    });
    expect(await batcher.submit({ id: 1 })).toMatchObject({ id: 1 });
    expect(log.mock.calls.flat().join('\n')).toContain('a worker thread ended: exit code 3');
  });

  // Root cause: the thread was terminated only 10 s after the start of the batch. Later batches were queued for it and timed
  // out, too.
  test('a computation that exceeds handlerTimeoutMs is terminated with its thread, and a new thread starts', async () => {
    const ended = new Promise((resolve) => vi.spyOn(console, 'error').mockImplementation(resolve));
    const clock = new VirtualClock();
    const { pool, batcher } = started({}, { handlerTimeoutMs: 1000, clock });
    await pool.ready;
    const spinning = codeOf(batcher.submit({ spin: true }));
    await clock.advance(1); // the batch is at the thread
    await clock.advance(1000);
    expect(await spinning).toMatchObject({ code: 'HANDLER_TIMEOUT' });
    expect(await ended).toContain('handlerTimeoutMs (1000 ms)');
    expect(await new Batcher(pool).submit({ id: 1 })).toMatchObject({ id: 1 });
  });

  // Root cause: the thread computed and was never terminated, because an aborted signal emits no event.
  test('a batch that is cancelled before it reaches a thread is not started', async () => {
    const { pool, batcher } = started();
    const context = { signal: AbortSignal.abort(new Error('gone')) } as BatchContext;
    await expect(pool.processBatch([{ spin: true }], context)).rejects.toThrow('gone');
    expect(await batcher.submit({ id: 1 })).toMatchObject({ id: 1 });
  });

  test.each([
    ['an item that cannot be copied', { id: () => {} }, 'INVALID_ITEM'],
    ['a result that cannot be copied', { uncloneable: true }, 'HANDLER_FAILED'],
  ])('%s', async (_, item, code) => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    const { batcher } = started();
    expect(await codeOf(batcher.submit(item))).toMatchObject({ code });
    expect(await batcher.submit({ id: 1 })).toMatchObject({ id: 1 });
  });
});

test('typed arrays and single answers', async () => {
  const { batcher } = started();
  expect(await Promise.all([batcher.submit({ typed: 0.5 }), batcher.submit({ typed: 2 })])).toEqual([0.5, 2]);
  expect(await batcher.submit({ oneByOne: true })).toBe('answer 0 of 1');
});

test.each([
  ['doubles', 42],
  ['model', 63],
])('the export %s', async (name, result) => {
  const pool = workerPool<number, number>(file, { threads: 1, export: name });
  const batcher = new Batcher(pool);
  open.push(pool, batcher);
  expect(await batcher.submit(21)).toBe(result);
});

describe('a module without a handler', () => {
  test.each([
    ['no such file', 'nowhere.mjs', undefined, /there is no file .*nowhere\.mjs/],
    ['a module that fails', 'failing.mjs', undefined, /failing\.mjs cannot be loaded: no weights/],
    [
      'no export',
      'empty.mjs',
      undefined,
      /expected an export named 'handler' or a default export .* it exports nothing/,
    ],
    ['another export', 'other.mjs', 'predict', /expected 'predict' that is a function .* it exports infer/],
  ])('%s', async (_, name, exportName, message) => {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-pool-'));
    writeFileSync(join(folder, 'failing.mjs'), "throw new Error('no weights');");
    writeFileSync(join(folder, 'empty.mjs'), '');
    writeFileSync(join(folder, 'other.mjs'), 'export const infer = (items) => items;');
    const pool = workerPool(join(folder, name), { threads: 2, export: exportName });
    const batcher = new Batcher(pool);
    open.push(pool, batcher);
    await expect(pool.ready).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringMatching(message),
    });
    await expect(batcher.submit(1)).rejects.toMatchObject({
      code: 'HANDLER_FAILED',
      cause: { code: 'INVALID_OPTION' },
    });
    rmSync(folder, { recursive: true });
  });
});

test.each([
  ['file', () => workerPool('')],
  ['file', () => workerPool(new URL('https://localhost/model.js'))],
  ['threads', () => workerPool(file, { threads: 0 })],
  ['export', () => workerPool(file, { export: 5 as never })],
  ['options', () => workerPool(file, { thread: 2 } as never)],
])('an invalid %s is rejected immediately', (name, make) => {
  expect(make).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(`workerPool(file, options): ${name}: expected`),
    }),
  );
});
