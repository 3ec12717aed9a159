import { type Curve, formulaCurve, goodputOptimum, measure, simulate } from '@batchwise/arena';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { gridCurve } from '../../src/grid/grid-curves.js';
import { puzzles, solveByAnyPlan, solveByRuns, TRAPS } from './support/exhaustive.js';
import { GREEDY, perMsAt, poissonCell, poissonTimes } from './support/grid.js';

const STRAIGHT = formulaCurve('2 + b', 4, (size) => 2 + size);

function onTime(arrivedAt: readonly number[], curve: Curve, targetLatencyMs: number): number {
  return goodputOptimum(arrivedAt, curve, targetLatencyMs).onTime;
}

describe('the most items that one slot can serve on time', () => {
  test.each([
    ['any schedule', 5, 300, solveByAnyPlan],
    ['any sequence of runs', 9, 300, solveByRuns],
  ])('is that of an exhaustive search over %s', (_plan, mostItems, numRuns, solve) => {
    fc.assert(
      fc.property(puzzles(mostItems), (puzzle) => {
        const { arrivedAt, curve, targetLatencyMs } = puzzle;
        expect(onTime(arrivedAt, curve, targetLatencyMs)).toBe(solve(puzzle).mostOnTime);
      }),
      { numRuns, seed: 20, examples: TRAPS.map((trap) => [trap]) },
    );
  });

  test('drops the oldest item if it would make the others late', () => {
    // A batch of all four takes 6 ms, too long for the first one, at 0; the three others take 5.
    expect(onTime([0, 2, 2, 2], STRAIGHT, 5)).toBe(3);
  });

  test('counts a response exactly at the deadline', () => {
    expect(
      onTime(
        [0.1],
        formulaCurve('0.3', 1, () => 0.3),
        0.3,
      ),
    ).toBe(1);
    expect(
      onTime(
        [0.1],
        formulaCurve('0.3', 1, () => 0.3),
        0.29,
      ),
    ).toBe(0);
  });

  test('is all items without a target, and none if no batch is quick enough', () => {
    expect(goodputOptimum([0, 0, 0], STRAIGHT, Number.POSITIVE_INFINITY)).toEqual({ onTime: 3, goodput: 1 });
    expect(goodputOptimum([0, 0, 0], STRAIGHT, 2)).toEqual({ onTime: 0, goodput: 0 });
    expect(goodputOptimum([], STRAIGHT, 2)).toEqual({ onTime: 0, goodput: 1 });
  });

  test('respects a smaller maximum batch size than that of the curve', () => {
    expect(goodputOptimum([0, 0, 0, 0], STRAIGHT, 6).onTime).toBe(4);
    expect(goodputOptimum([0, 0, 0, 0], STRAIGHT, 6, 2).onTime).toBe(2);
  });

  test('is at least the goodput of a policy', async () => {
    const scenario = { ...poissonCell('a', 1, 0.8, 5_000, 1), targetLatencyMs: 20 };
    const run = await simulate(scenario, GREEDY);
    const { goodput } = goodputOptimum(run.arrivedAt, scenario.curve, scenario.targetLatencyMs);
    expect(measure(run).goodput).toBeLessThanOrEqual(goodput);
    expect(goodput).toBeLessThan(1);
  });

  test('is close to the maximum throughput under heavy overload', () => {
    const curve = gridCurve('a');
    const { goodput } = goodputOptimum(poissonTimes(perMsAt(curve, 1, 1.3), 8000, 3), curve, 34.2);
    expect(goodput).toBeGreaterThan(0.98 / 1.3);
    expect(goodput).toBeLessThan(1.01 / 1.3);
  });

  test('throws for a decreasing curve, with which a later item could make a batch quicker', () => {
    const falling = formulaCurve('falling', 2, (size) => 3 - size);
    expect(() => goodputOptimum([0], falling, 5)).toThrow('a batch of 2 is quicker than one of 1');
  });
});
