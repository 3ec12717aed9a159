/** `batchSizes`: a backend that pads. Batches are cut to one of its sizes where that is faster, and padded otherwise. */
import { Batcher, type BatcherOptions, greedy, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { at, Driven } from './support/driven.js';
import { Gate, gated } from './support/gate.js';
import { poissonTimes, seeded } from './support/random.js';

const SIZES = [1, 2, 4, 8, 16, 32, 64];
/** Duration by padded cost. */
const durationMs = (paddedCost: number) => 2 + 0.25 * paddedCost;

describe('invalid sizes are rejected, and the message names the position', () => {
  const list = 'batchSizes: expected a list of rising numbers, got ';
  const wrong: [sizes: unknown, message: string][] = [
    [64, `${list}64.`],
    ['1,2,4', `${list}the string "1,2,4".`],
    [null, `${list}null.`],
    [new Set([1, 2]), `${list}an object (Set).`],
    [[0], 'batchSizes[0]: expected a number above 0, got 0.'],
    [[1, -2], 'batchSizes[1]: expected a number above 0, got -2.'],
    [[1, Number.NaN], 'batchSizes[1]: expected a number above 0, got NaN.'],
    [[1, 8, Infinity], 'batchSizes[2]: expected a number above 0, got Infinity.'],
    [[1, '2'], 'batchSizes[1]: expected a number above 0, got the string "2".'],
    [[1, undefined, 4], 'batchSizes[1]: expected a number above 0, got undefined.'],
    [[1, 8, 4], 'batchSizes[2]: expected more than 8, got 4.'],
    [[2, 2], 'batchSizes[1]: expected more than 2, got 2.'],
  ];
  test.each(wrong)('%j', (batchSizes, message) => {
    const options = { batchSizes } as BatcherOptions<number>;
    const expected = expect.objectContaining({ code: 'INVALID_OPTION', message });
    expect(() => new Batcher((items: number[]) => items, options)).toThrow(expected);
    expect(() => new Batcher((items: number[]) => items).configure(options)).toThrow(expected);
  });

  test('invalid sizes in configure() change nothing', async () => {
    const { clock, gate, batcher } = gated({ batchSizes: [8] });
    expect(() => batcher.configure({ maxBatchSize: 2, batchSizes: [4, 2] })).toThrow();
    for (const item of [1, 2, 3]) void batcher.submit(item);
    await clock.advance(0);
    expect(gate.call(0).context).toMatchObject({ size: 3, paddedCost: 8 });
  });
});

describe('context.paddedCost', () => {
  async function paddedOf(costs: readonly number[], options: BatcherOptions<number>): Promise<number> {
    const { clock, gate, batcher } = gated({ costOf: (item) => item, maxBatchSize: 100, ...options });
    for (const cost of costs) void batcher.submit(cost);
    await clock.advance(0);
    const { cost, paddedCost } = gate.call(0).context;
    expect(cost).toBe(costs.reduce((sum, one) => sum + one, 0));
    return paddedCost;
  }

  test.each([
    [[1], 4],
    [[4], 4],
    [[4, 1], 8],
    [[2.5, 1.25], 4],
    [[8, 1], 9],
    [[50], 50],
  ])('of a batch that costs %j is %d, with 4 and 8 as sizes', async (costs, padded) => {
    expect(await paddedOf(costs, { batchSizes: [4, 8] })).toBe(padded);
  });

  test('is the cost of the batch without sizes', async () => {
    expect(await paddedOf([3, 2.5], {})).toBe(5.5);
  });

  test('is the cost of the part if a batch is bisected', async () => {
    const clock = new VirtualClock();
    const gate = new Gate<number, number>();
    const batcher = new Batcher(gate.handler, { clock, batchSizes: [1, 2, 4, 8], isolate: true });
    for (const item of [1, 2, 3, 4, 5]) void batcher.submit(item).catch(() => {});
    await clock.advance(0);
    gate.call(0).fail(new Error('one of them'));
    await clock.advance(0);
    expect(gate.calls.map(({ items, context }) => [items.length, context.paddedCost])).toEqual([
      [5, 8],
      [2, 2],
    ]);
  });

  test('does not change if the given list is changed later', async () => {
    const batchSizes = [4, 8];
    const { clock, gate, batcher } = gated({ batchSizes });
    batchSizes[0] = 1000;
    void batcher.submit(1);
    await clock.advance(0);
    expect(gate.call(0).context.paddedCost).toBe(4);
  });
});

describe('a batch', () => {
  test('is dispatched without a cut, padded, while no duration is known', async () => {
    const driven = new Driven(durationMs, { batchSizes: SIZES });
    for (let i = 0; i < 33; i++) driven.arrive();
    await driven.clock.advance(100);
    expect(driven.batches.map(({ context }) => [context.size, context.paddedCost])).toEqual([[33, 64]]);
  });

  test('never exceeds maxBatchSize, which need not be one of the sizes', async () => {
    const driven = new Driven(durationMs, { batchSizes: SIZES, maxBatchSize: 24 });
    await driven.play(at(poissonTimes(seeded(1), 0.5, 800)));
    expect(driven.latenciesMs).toHaveLength(800);
    expect(Math.max(...driven.batches.map(({ context }) => context.size))).toBeLessThanOrEqual(24);
  });
});

test('under load batches are cut to sizes: less padding than greedy(), and lower latency', async () => {
  // Load 0.7.
  const times = poissonTimes(seeded(2), durationMs(64) / 64 / 0.7, 6000);
  const later = (all: readonly number[]) => all.slice(all.length >> 1);
  const mean = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const paddingOf = ({ batches }: Driven) => {
    const last = batches.slice(batches.length >> 1);
    const sum = (of: (batch: (typeof last)[number]) => number) =>
      last.reduce((total, one) => total + of(one), 0);
    return sum(({ context }) => context.paddedCost - context.cost) / sum(({ context }) => context.paddedCost);
  };
  const ours = await new Driven(durationMs, { batchSizes: SIZES }).play(at(times));
  const withGreedy = await new Driven(durationMs, { batchSizes: SIZES, policy: greedy() }).play(at(times));
  expect(paddingOf(ours)).toBeLessThan(0.5 * paddingOf(withGreedy));
  expect(mean(later(ours.latenciesMs))).toBeLessThan(0.8 * mean(later(withGreedy.latenciesMs)));
});

describe('configure({ batchSizes })', () => {
  async function known() {
    const driven = new Driven(durationMs, { batchSizes: SIZES, policy: greedy() });
    for (const size of [1, 4, 16]) {
      for (let i = 0; i < size; i++) driven.arrive();
      await driven.clock.advance(100);
    }
    driven.batches.length = 0;
    return driven;
  }

  test('takes effect with the next batch; a running batch keeps its sizes', async () => {
    const driven = await known();
    for (let i = 0; i < 3; i++) driven.arrive();
    await driven.clock.advance(0);
    driven.batcher.configure({ batchSizes: [10, 20] });
    for (let i = 0; i < 3; i++) driven.arrive();
    await driven.clock.advance(100);
    expect(driven.batches.map(({ context }) => context.paddedCost)).toEqual([4, 10]);
  });

  test('forgets the learned durations', async () => {
    const driven = await known();
    expect(driven.batcher.stats().fullBatchMs).toBe(durationMs(16));
    driven.batcher.configure({ batchSizes: [10, 20] });
    expect(driven.batcher.stats().fullBatchMs).toBeUndefined();
    await driven.play([{ at: 0 }]);
    expect(driven.batcher.stats().fullBatchMs).toBe(durationMs(10));
  });

  test('with no sizes stops padding', async () => {
    const driven = await known();
    driven.batcher.configure({ batchSizes: [] });
    for (let i = 0; i < 3; i++) driven.arrive();
    await driven.clock.advance(100);
    expect(driven.batches.map(({ context }) => context.paddedCost)).toEqual([3]);
  });

  test('forgets nothing if the sizes are the same or other options change', async () => {
    const driven = await known();
    driven.batcher.configure({ batchSizes: [...SIZES] });
    driven.batcher.configure({ maxWaitMs: 100, batchSizes: undefined });
    expect(driven.batcher.stats().fullBatchMs).toBe(durationMs(16));
  });
});
