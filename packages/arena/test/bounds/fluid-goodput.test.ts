import { fluidGoodput, formulaCurve, goodputOptimum, measure, simulate } from '@batchwise/arena';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { puzzles } from './support/exhaustive.js';
import { GREEDY, poissonCell, poissonTimes } from './support/grid.js';

const PAIRS = formulaCurve('pairs', 2, () => 4);

describe('the fluid bound on goodput', () => {
  test('is at least the optimum for one slot', () => {
    fc.assert(
      fc.property(puzzles(30), ({ arrivedAt, curve, targetLatencyMs }) => {
        const { goodput } = goodputOptimum(arrivedAt, curve, targetLatencyMs);
        expect(fluidGoodput(arrivedAt, curve, 1, targetLatencyMs)).toBeGreaterThanOrEqual(goodput);
      }),
      { numRuns: 500, seed: 22 },
    );
  });

  test('is the number of items before the deadline at the maximum throughput', () => {
    // Two slots serve a pair in 4 ms each: one item per millisecond.
    expect(fluidGoodput(new Array(10).fill(0), PAIRS, 2, 5)).toBe(0.5);
    expect(fluidGoodput(new Array(10).fill(0), PAIRS, 2, 10)).toBe(1);
    expect(fluidGoodput(new Array(10).fill(0), PAIRS, 2, 3)).toBe(0);
    expect(fluidGoodput([], PAIRS, 2, 3)).toBe(1);
  });

  test('is maximum throughput ÷ rate under heavy overload', () => {
    const arrivedAt = poissonTimes(2, 20_000, 1);
    expect(fluidGoodput(arrivedAt, PAIRS, 2, 20)).toBeCloseTo(0.5, 2);
  });

  test('is at least the goodput of a policy', async () => {
    const scenario = { ...poissonCell('a', 2, 0.95, 5_000, 1), targetLatencyMs: 15 };
    const run = await simulate(scenario, GREEDY);
    const bound = fluidGoodput(run.arrivedAt, scenario.curve, 2, scenario.targetLatencyMs);
    expect(measure(run).goodput).toBeLessThanOrEqual(bound);
  });
});
