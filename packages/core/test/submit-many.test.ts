/** `submitMany`: one request with several items, admitted and answered as a whole. */
import { Batcher, type BatcherOptions, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { expectBooksToBalance, expectRest } from './support/books.js';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

function gated(options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number | Error>();
  const batcher = new Batcher<number, number>(gate.handler, { clock, ...options });
  /** Answers a call with ten times each item, and an Error for negative items. */
  const answer = async (index: number) => {
    const { items, answer: give } = gate.call(index);
    give(items.map((item) => (item < 0 ? new Error(`bad ${item}`) : 10 * item)));
    await clock.advance(0);
  };
  return { clock, gate, batcher, answer };
}

const numbers = (length: number) => Array.from({ length }, (_, i) => i);

test('results are returned in the order of the items', async () => {
  const { clock, gate, batcher, answer } = gated();
  const request = outcomeOf(batcher.submitMany([3, 1, 2]));
  await clock.advance(0);
  expect(gate.batches).toEqual([[3, 1, 2]]);
  await answer(0);
  expect(request.value).toEqual([30, 10, 20]);
  expect(batcher.stats()).toMatchObject({ submitted: 3, succeeded: 3 });
});

test('a request larger than a batch is split, and its results are merged in order', async () => {
  const { clock, gate, batcher, answer } = gated({ maxBatchSize: 4, concurrency: 3 });
  const request = outcomeOf(batcher.submitMany(numbers(10)));
  await clock.advance(0);
  expect(gate.batches).toEqual([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
    [8, 9],
  ]);
  await answer(2);
  await answer(0);
  expect(request.state).toBe('pending');
  await answer(1);
  expect(request.value).toEqual(numbers(10).map((item) => 10 * item));
});

test('two requests share a batch', async () => {
  const { clock, gate, batcher, answer } = gated();
  const requests = [[1, 2], [3]].map((items) => outcomeOf(batcher.submitMany(items)));
  await clock.advance(0);
  expect(gate.batches).toEqual([[1, 2, 3]]);
  await answer(0);
  expect(requests.map(({ value }) => value)).toEqual([[10, 20], [30]]);
});

test('a request without items resolves to an empty array and is not counted', async () => {
  const { batcher } = gated();
  expect(await batcher.submitMany([])).toEqual([]);
  expect(batcher.stats()).toMatchObject({ submitted: 0, batches: 0 });
});

test('the array may be changed after the call', async () => {
  const { clock, batcher, answer } = gated();
  const items = [1, 2];
  const request = outcomeOf(batcher.submitMany(items));
  items.push(3);
  items[0] = 99;
  await clock.advance(0);
  await answer(0);
  expect(request.value).toEqual([10, 20]);
});

test('undefined is a valid item and result', async () => {
  const clock = new VirtualClock();
  const batcher = new Batcher((items: (undefined | number)[]) => items, { clock });
  const request = outcomeOf(batcher.submitMany([undefined, 1, undefined]));
  await clock.advance(0);
  expect(request.value).toEqual([undefined, 1, undefined]);
});

test('a request that does not fit in the queue is rejected as a whole', async () => {
  const { clock, gate, batcher, answer } = gated({ maxQueueSize: 5 });
  void batcher.submit(0);
  await clock.advance(0);
  void batcher.submitMany([1, 2, 3]);
  const rejected = outcomeOf(batcher.submitMany([4, 5, 6]));
  const fits = outcomeOf(batcher.submitMany([7, 8]));
  await clock.advance(0);
  expect(rejected.code).toBe('QUEUE_FULL');
  expect(rejected.error).toMatchObject({ retryAfterMs: expect.any(Number) });
  expect(batcher.stats()).toMatchObject({ queued: 5, refused: 3, refusals: { QUEUE_FULL: 3 } });
  await answer(0);
  await answer(1);
  expect(fits.value).toEqual([70, 80]);
  expect(gate.batches).toEqual([[0], [1, 2, 3, 7, 8]]);
  expectRest(batcher);
});

test('a request larger than maxQueueSize is rejected as invalid, and none of its items runs', async () => {
  const { clock, gate, batcher } = gated({ maxQueueSize: 3, maxBatchSize: 2 });
  const request = outcomeOf(batcher.submitMany(numbers(4)));
  await clock.advance(0);
  expect(request.code).toBe('INVALID_ITEM');
  expect(gate.calls).toEqual([]);
  expectRest(batcher);
});

test('full batches are dispatched to make room for a request', async () => {
  const { clock, gate, batcher } = gated({ maxQueueSize: 4, maxBatchSize: 2, concurrency: 2 });
  void batcher.submitMany([1, 2, 3]);
  const request = outcomeOf(batcher.submitMany([4, 5, 6]));
  await clock.advance(0);
  expect(request.code).toBeUndefined();
  expect(gate.batches[0]).toEqual([1, 2]);
});

test('a request with one item that cannot be answered in time is rejected as a whole', async () => {
  const { clock, gate, batcher, answer } = gated({ maxBatchSize: 1 });
  void batcher.submit(0);
  await clock.advance(10);
  await answer(0);
  const request = outcomeOf(batcher.submitMany([1, 2, 3], { timeoutMs: 25 }));
  await clock.advance(0);
  expect(request.code).toBe('OVERLOADED');
  expect(gate.batches).toEqual([[0]]);
  expectRest(batcher);
});

test('one item fails: the request fails at once with its error, and the rest is cancelled', async () => {
  const { clock, gate, batcher, answer } = gated({ maxBatchSize: 2, concurrency: 2 });
  const request = outcomeOf(batcher.submitMany([1, -2, 3, 4, 5, 6]));
  const neighbour = outcomeOf(batcher.submit(7));
  await clock.advance(0);
  await answer(0);
  expect((request.error as Error).message).toBe('bad -2');
  expect(gate.call(1).context.signal.aborted).toBe(true);
  await answer(1);
  expect(gate.batches).toEqual([[1, -2], [3, 4], [7]]);
  await answer(2);
  expect(neighbour.value).toBe(70);
  expect(batcher.stats()).toMatchObject({ succeeded: 2, failed: 1, cancelled: 4 });
  expect(request.settled).toBe(1);
  expectRest(batcher);
});

test('several items fail together: the request fails once, with the first error', async () => {
  const { clock, batcher, answer } = gated();
  const request = outcomeOf(batcher.submitMany([-1, -2, 3]));
  await clock.advance(0);
  await answer(0);
  expect([(request.error as Error).message, request.settled]).toEqual(['bad -1', 1]);
  expectRest(batcher);
});

test.each(['before', 'queued', 'running'])(
  'the signal fires (%s): the request is cancelled as a whole',
  async (when) => {
    const { clock, gate, batcher } = gated({ maxBatchSize: 2 });
    const controller = new AbortController();
    const reason = new Error('user left');
    if (when === 'before') controller.abort(reason);
    const request = outcomeOf(batcher.submitMany([1, 2, 3], { signal: controller.signal }));
    if (when === 'running') await clock.advance(0);
    controller.abort(reason);
    await clock.advance(0);
    expect(request.code).toBe('CANCELLED');
    expect((request.error as Error).cause).toBe(reason);
    expect(batcher.stats()).toMatchObject({ queued: 0, running: 0 });
    expectBooksToBalance(batcher);
    expect(gate.calls).toHaveLength(when === 'running' ? 1 : 0);
    if (when === 'running') expect(gate.call(0).context.signal.aborted).toBe(true);
  },
);

test('the deadline applies to the whole request', async () => {
  const { clock, batcher, answer } = gated({ maxBatchSize: 2 });
  const request = outcomeOf(batcher.submitMany([1, 2, 3], { timeoutMs: 20 }));
  await clock.advance(5);
  await answer(0);
  await clock.advance(15);
  expect(request.code).toBe('DEADLINE_EXCEEDED');
  await answer(1);
  expectRest(batcher);
});

test('priority, tenant and weight apply to all items', async () => {
  const { clock, gate, batcher, answer } = gated({ maxBatchSize: 2 });
  void batcher.submit(0);
  await clock.advance(0);
  void batcher.submitMany([1, 2]);
  void batcher.submitMany([3, 4], { priority: 1 });
  await answer(0);
  await answer(1);
  expect(gate.batches).toEqual([[0], [3, 4], [1, 2]]);
});

test('for random sizes and limits, every request is answered in order or rejected as a whole', async () => {
  const scenario = fc.record({
    requests: fc.array(fc.array(fc.integer({ min: -1, max: 50 }), { maxLength: 12 }), { maxLength: 8 }),
    maxBatchSize: fc.integer({ min: 1, max: 6 }),
    maxQueueSize: fc.integer({ min: 1, max: 30 }),
    concurrency: fc.integer({ min: 1, max: 3 }),
    dedupes: fc.boolean(),
    windowed: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(scenario, async ({ requests, dedupes, windowed, ...limits }) => {
      const { clock, gate, batcher, answer } = gated({
        ...limits,
        ...(dedupes ? { dedupeBy: (item: number) => item } : {}),
        ...(windowed ? { policy: window({ maxWaitMs: 10 }) } : {}),
      });
      const outcomes = requests.map((items) => outcomeOf(batcher.submitMany(items)));
      await clock.advance(10);
      for (let call = 0; call < gate.calls.length; call++) {
        await answer(call);
        expectBooksToBalance(batcher);
        await clock.advance(10);
      }
      for (const [index, { state, value, code, settled }] of outcomes.entries()) {
        const items = requests[index] ?? [];
        expect(settled).toBe(1);
        if (state === 'resolved') expect(value).toEqual(items.map((item) => 10 * item));
        else expect(items.includes(-1) || ['QUEUE_FULL', 'INVALID_ITEM'].includes(code ?? '')).toBe(true);
      }
      expectRest(batcher);
    }),
    { numRuns: 200 },
  );
});
