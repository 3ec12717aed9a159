import { backendTimeBound, formulaCurve, measure, simulate } from '@batchwise/arena';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { puzzles, solveByAnyPlan, solveByRuns, TRAPS } from './support/exhaustive.js';
import { GREEDY, poissonCell } from './support/grid.js';

const STRAIGHT = formulaCurve('2 + b', 4, (size) => 2 + size);

describe('the least backend time of one slot with all items on time', () => {
  test.each([
    ['any schedule', 5, 300, solveByAnyPlan],
    ['any sequence of runs', 9, 300, solveByRuns],
  ])('is that of an exhaustive search over %s', (_plan, mostItems, numRuns, solve) => {
    fc.assert(
      fc.property(puzzles(mostItems), (puzzle) => {
        const { arrivedAt, curve, targetLatencyMs } = puzzle;
        expect(backendTimeBound(arrivedAt, curve, targetLatencyMs)).toBe(solve(puzzle).leastBusyMs);
      }),
      { numRuns, seed: 21, examples: TRAPS.map((trap) => [trap]) },
    );
  });

  test('is one batch if the first item can wait for the last, otherwise one batch per item', () => {
    expect(backendTimeBound([0, 10], STRAIGHT, 14)).toBe(4);
    expect(backendTimeBound([0, 10], STRAIGHT, 13)).toBe(6);
  });

  test('is infinite if some item is late in every schedule', () => {
    expect(backendTimeBound([0, 0, 0, 0, 0], STRAIGHT, 8)).toBe(Number.POSITIVE_INFINITY);
    expect(backendTimeBound([0, 0, 0, 0, 0], STRAIGHT, 9)).toBe(9);
  });

  test('respects a smaller maximum batch size than that of the curve', () => {
    expect(backendTimeBound([0, 0], STRAIGHT, 9)).toBe(4);
    expect(backendTimeBound([0, 0], STRAIGHT, 9, 1)).toBe(6);
  });

  test('is far below the backend time of greedy with a loose target', async () => {
    const scenario = { ...poissonCell('a', 1, 0.1, 3_000, 1), targetLatencyMs: 34.2 };
    const run = await simulate(scenario, GREEDY);
    const bound = backendTimeBound(run.arrivedAt, scenario.curve, scenario.targetLatencyMs);
    expect(measure(run).onTime).toBe(1);
    expect(measure(run).busyMs / bound).toBeGreaterThan(2);
    expect(measure(run).busyMs / bound).toBeLessThan(6);
  });

  test('is 0 without items', () => {
    expect(backendTimeBound([], STRAIGHT, 1)).toBe(0);
  });
});
