import { Batcher, type BatcherOptions, greedy, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Gate } from './support/gate.js';
import { outcomeOf } from './support/outcome.js';

function gated(options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const gate = new Gate<number, number>();
  const batcher = new Batcher(gate.handler, { clock, ...options });
  const submit = (item: number) => outcomeOf(batcher.submit(item));
  const submitAll = (count: number) => Array.from({ length: count }, (_, item) => submit(item));
  return { clock, gate, batcher, submit, submitAll };
}

describe('maxBatchSize', () => {
  test('of 1 makes every item a batch', async () => {
    const { clock, gate, batcher, submitAll } = gated({ maxBatchSize: 1, concurrency: 2 });
    submitAll(4);
    await clock.advance(0);
    expect(gate.batches).toEqual([[0], [1]]);
    for (const call of [0, 1]) gate.call(call).answer([0]);
    await clock.advance(0);
    expect(gate.batches).toEqual([[0], [1], [2], [3]]);
    expect(batcher.stats()).toMatchObject({ batches: 4, batchedItems: 4 });
  });

  test('of -1 or Infinity is no limit', async () => {
    for (const maxBatchSize of [-1, Number.POSITIVE_INFINITY]) {
      const { clock, gate, submitAll } = gated({ maxBatchSize });
      submitAll(10_000);
      await clock.advance(0);
      expect(gate.batches.map(({ length }) => length)).toEqual([10_000]);
    }
  });

  test('limits the cost: a batch takes items in order as long as they fit', async () => {
    const costs = fc.array(fc.integer({ min: 1, max: 10 }), { minLength: 1, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(costs, fc.integer({ min: 10, max: 30 }), async (items, maxBatchSize) => {
        const { clock, gate, submit } = gated({ maxBatchSize, costOf: (cost) => cost, concurrency: 100 });
        for (const cost of items) submit(cost);
        await clock.advance(0);
        const expected: number[][] = [];
        let room = 0;
        for (const cost of items) {
          if (cost > room) {
            expected.push([]);
            room = maxBatchSize;
          }
          expected.at(-1)?.push(cost);
          room -= cost;
        }
        expect(gate.batches).toEqual(expected);
        for (const { items: batch, context } of gate.calls) {
          expect(context.cost).toBe(batch.reduce((sum, cost) => sum + cost, 0));
        }
      }),
    );
  });

  test('holds for fractional costs at several priorities', async () => {
    const call = fc.record({
      tenths: fc.integer({ min: 1, max: 9 }),
      tenant: fc.constantFrom('a', 'b', 'c'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 40 }), async (calls) => {
        const { clock, gate, batcher } = gated({ maxBatchSize: 1, costOf: (cost) => cost, concurrency: 100 });
        for (const { tenths, tenant } of calls) batcher.submit(tenths / 10, { tenant }).catch(() => {});
        await clock.advance(0);
        for (const { context } of gate.calls) expect(context.cost).toBeLessThanOrEqual(1);
        expect(gate.batches.flat()).toHaveLength(calls.length);
      }),
    );
  });

  test('an item whose cost exceeds it is INVALID_ITEM; an item of exactly that cost is a batch', async () => {
    const { clock, gate, batcher, submit } = gated({ maxBatchSize: 8, costOf: (cost) => cost });
    const [tooLarge, justFits] = [submit(9), submit(8)];
    const many = outcomeOf(batcher.submitMany([1, 9, 1]));
    await clock.advance(0);
    expect([tooLarge.code, justFits.state, many.code]).toEqual(['INVALID_ITEM', 'pending', 'INVALID_ITEM']);
    expect(gate.batches).toEqual([[8]]);
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '1', undefined])(
    'a cost of %o is INVALID_ITEM',
    async (cost) => {
      const { clock, gate, submit } = gated({ costOf: () => cost as number });
      const outcome = submit(1);
      await clock.advance(0);
      expect(outcome.code).toBe('INVALID_ITEM');
      expect(gate.calls).toEqual([]);
    },
  );
});

describe('concurrency', () => {
  test('is never exceeded, and no slot stays empty while items are queued', async () => {
    const workload = fc.record({
      concurrency: fc.integer({ min: 1, max: 4 }),
      arrivals: fc.array(fc.record({ gapMs: fc.nat(8), count: fc.integer({ min: 1, max: 6 }) }), {
        maxLength: 25,
      }),
      durationsMs: fc.array(fc.nat(20), { minLength: 1, maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(workload, async ({ concurrency, arrivals, durationsMs }) => {
        const clock = new VirtualClock();
        let running = 0;
        let calls = 0;
        const handler = (items: number[]): Promise<number[]> => {
          running += 1;
          expect(running).toBeLessThanOrEqual(concurrency);
          const durationMs = durationsMs[calls++ % durationsMs.length] as number;
          return new Promise((resolve) => {
            clock.setTimer(() => {
              running -= 1;
              resolve(items);
            }, durationMs);
          });
        };
        const batcher = new Batcher(handler, { clock, concurrency, maxBatchSize: 3, policy: greedy() });
        const outcomes: ReturnType<typeof outcomeOf>[] = [];
        for (const { gapMs, count } of arrivals) {
          await clock.advance(gapMs);
          for (let item = 0; item < count; item++) outcomes.push(outcomeOf(batcher.submit(item)));
          await clock.advance(0);
          const { queued, batchesRunning } = batcher.stats();
          expect(batchesRunning).toBe(running);
          if (queued > 0) expect(running).toBe(concurrency);
        }
        await clock.advance(100_000);
        expect(outcomes.every(({ state }) => state === 'resolved')).toBe(true);
      }),
    );
  });

  test('of Infinity starts every batch at once', async () => {
    const { clock, gate, batcher, submitAll } = gated({
      concurrency: Number.POSITIVE_INFINITY,
      maxBatchSize: 2,
    });
    submitAll(1000);
    await clock.advance(0);
    expect(gate.calls).toHaveLength(500);
    expect(batcher.stats()).toMatchObject({ batchesRunning: 500, queued: 0 });
  });
});

describe('maxQueueSize', () => {
  test('is exact: one item more is rejected', async () => {
    const { clock, batcher, submitAll } = gated({ maxQueueSize: 5, maxBatchSize: 2 });
    submitAll(2);
    await clock.advance(0);
    const outcomes = submitAll(7);
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual([
      ...new Array(5).fill(undefined),
      'QUEUE_FULL',
      'QUEUE_FULL',
    ]);
    expect(batcher.stats()).toMatchObject({ queued: 5, refused: 2, refusals: { QUEUE_FULL: 2 } });
  });

  test('rejects no item of a burst for which slots are free', async () => {
    const { clock, batcher, submitAll } = gated({ maxQueueSize: 4, maxBatchSize: 3, concurrency: 2 });
    const outcomes = submitAll(3 + 3 + 4 + 1);
    await clock.advance(0);
    expect(outcomes.map(({ code }) => code)).toEqual([...new Array(10).fill(undefined), 'QUEUE_FULL']);
    expect(batcher.stats()).toMatchObject({ batchesRunning: 2, running: 6, queued: 4 });
  });

  test('smaller than a batch dispatches held items rather than reject new ones', async () => {
    const { clock, gate, submitAll } = gated({ maxQueueSize: 3, maxBatchSize: 64 });
    const outcomes = submitAll(7);
    await clock.advance(0);
    expect(gate.batches).toEqual([[0, 1, 2]]);
    expect(outcomes.filter(({ code }) => code === 'QUEUE_FULL')).toHaveLength(1);
  });

  test('of -1 is no limit', async () => {
    const { clock, batcher, submitAll } = gated({ maxQueueSize: -1, maxBatchSize: 1 });
    submitAll(10_000);
    await clock.advance(0);
    expect(batcher.stats()).toMatchObject({ queued: 9999, running: 1, refused: 0 });
  });

  test('admits all items of a request or none of them', async () => {
    const { clock, batcher, submitAll } = gated({ maxQueueSize: 5, maxBatchSize: 1 });
    submitAll(1);
    await clock.advance(0);
    const fits = outcomeOf(batcher.submitMany([1, 2, 3]));
    const doesNot = outcomeOf(batcher.submitMany([4, 5, 6]));
    await clock.advance(0);
    expect([fits.state, doesNot.code]).toEqual(['pending', 'QUEUE_FULL']);
    expect(batcher.stats()).toMatchObject({ queued: 3, refused: 3, submitted: 7 });
  });
});
