/** The searches, with simulations replaced by known results. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Question, validRequest } from '../src/plan/plan-request.js';
import {
  bestBatchSize,
  capacityPerSecond,
  fewestSlots,
  largestRate,
  lowestTarget,
  rounded,
  type Trials,
} from '../src/plan/plan-search.js';
import type { Setup } from '../src/plan/plan-trial.js';
import { formulaCurve } from '../src/simulation/curve.js';

/** One slot serves at most 2424 requests per second. */
const question: Question = validRequest({
  curve: formulaCurve('straight', 16, (b) => 5 + 0.1 * b),
  traffic: { kind: 'rate', perSecond: 100 },
  targetLatencyMs: 20,
});
const CAPACITY = capacityPerSecond(question, 1, 16);

class Known implements Trials {
  readonly tried: Setup[] = [];
  readonly #holds: (setup: Setup) => boolean;

  constructor(holds: (setup: Setup) => boolean) {
    this.#holds = holds;
  }

  async run(setup: Setup): Promise<{ readonly holds: boolean }> {
    this.tried.push(setup);
    return { holds: this.#holds(setup) };
  }
}

describe('the fewest slots', () => {
  const setup = { maxBatchSize: 16, perSecond: 100, targetLatencyMs: 20 };

  test('are found for any number', async () => {
    for (let needed = 1; needed <= 64; needed++) {
      const trials = new Known(({ slots }) => slots >= needed);
      expect(await fewestSlots(trials, question, setup)).toBe(needed);
      expect(trials.tried.length).toBeLessThanOrEqual(14);
    }
  });

  test('are undefined if 64 are not enough', async () => {
    expect(await fewestSlots(new Known(() => false), question, setup)).toBeUndefined();
  });

  test('are not simulated below the required throughput', async () => {
    const trials = new Known(() => true);
    expect(await fewestSlots(trials, question, { ...setup, perSecond: 10 * CAPACITY })).toBe(10);
    expect(await fewestSlots(trials, question, { ...setup, perSecond: 100 * CAPACITY })).toBeUndefined();
    expect(trials.tried).toHaveLength(1);
  });
});

describe('the largest rate', () => {
  const setup = { slots: 1, maxBatchSize: 16, targetLatencyMs: 20 };

  test('is found to a percent, is held, and has three digits', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 1, max: CAPACITY, noNaN: true }), async (limit) => {
        const trials = new Known(({ perSecond }) => perSecond <= limit);
        const found = (await largestRate(trials, question, setup)) ?? Number.NaN;
        expect(found).toBeLessThanOrEqual(limit);
        expect(found).toBeGreaterThan(limit / 1.021);
        expect(found).toBe(Number(found.toPrecision(3)));
        expect(trials.tried.length).toBeLessThanOrEqual(24);
      }),
    );
  });

  test('is undefined if no rate is held', async () => {
    expect(await largestRate(new Known(() => false), question, setup)).toBeUndefined();
  });

  test('is at least a rate that is known to be held', async () => {
    const trials = new Known(({ perSecond }) => perSecond === 123.456);
    expect(await largestRate(trials, question, setup, 123.456)).toBe(123.456);
  });
});

describe('the lowest target', () => {
  const setup = { slots: 1, maxBatchSize: 16, perSecond: 100 };

  test('is found to a percent, and is held', async () => {
    await fc.assert(
      fc.asyncProperty(fc.double({ min: 5.1, max: 3000, noNaN: true }), async (limit) => {
        const trials = new Known(({ targetLatencyMs }) => targetLatencyMs >= limit);
        const found = (await lowestTarget(trials, question, setup)) ?? Number.NaN;
        expect(found).toBeGreaterThanOrEqual(limit);
        expect(found).toBeLessThan(limit * 1.021);
      }),
    );
  });

  test('is undefined if the slots lack throughput, or no target is held', async () => {
    const trials = new Known(() => true);
    expect(await lowestTarget(trials, question, { ...setup, perSecond: 2 * CAPACITY })).toBeUndefined();
    expect(trials.tried).toEqual([]);
    expect(await lowestTarget(new Known(() => false), question, setup)).toBeUndefined();
  });
});

describe('the best batch size', () => {
  const holdingUpTo = (limits: Record<number, number>) =>
    new Known(({ perSecond, maxBatchSize }) => perSecond <= (limits[maxBatchSize] ?? 0));

  test('is the first candidate unless another is better by more than 2 %', async () => {
    expect(await bestBatchSize(holdingUpTo({ 8: 1000, 16: 1000 }), question, [8, 16], 1)).toBe(8);
    expect(await bestBatchSize(holdingUpTo({ 8: 1000, 16: 1010 }), question, [8, 16], 1)).toBe(8);
    expect(await bestBatchSize(holdingUpTo({ 8: 1000, 16: 1200 }), question, [8, 16], 1)).toBe(16);
    expect(await bestBatchSize(holdingUpTo({ 8: 500, 16: 450, 4: 700 }), question, [8, 16, 4], 1)).toBe(4);
  });

  test('needs no search for a single candidate', async () => {
    const trials = new Known(() => true);
    expect(await bestBatchSize(trials, question, [16], 1)).toBe(16);
    expect(trials.tried).toEqual([]);
  });
});

test('numbers are rounded to three digits', () => {
  expect([123.456, 5.614, 0.012_345, 5610, 1].map((value) => rounded(value, 'down'))).toEqual([
    123, 5.61, 0.0123, 5610, 1,
  ]);
  expect([123.456, 5.614, 0.012_345, 5610, 1, 999.9].map((value) => rounded(value, 'up'))).toEqual([
    124, 5.62, 0.0124, 5610, 1, 1000,
  ]);
});
