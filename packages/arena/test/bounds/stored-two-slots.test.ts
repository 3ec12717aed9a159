import { measure, simulate, storedTwoSlots, type TwoSlotBound, twoSlotBound } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { gridCurve } from '../../src/grid/grid-curves.js';
import { GREEDY, poissonCell } from './support/grid.js';
import { ratioEstimate } from './support/ratio-estimate.js';

const CELLS = storedTwoSlots().map(({ curve, rho }) => [curve, rho] as const);

function boundOf(name: string, rho: number): TwoSlotBound {
  return twoSlotBound(gridCurve(name), rho) as TwoSlotBound;
}

describe('the stored optima for two slots', () => {
  test('have the curves and loads of the grid', () => {
    for (const name of ['a', 'b', 'c', 'd', 'concave', 'eights', 'resnet50']) {
      for (const rho of [0.3, 0.5, 0.7, 0.85, 0.95]) expect(CELLS).toContainEqual([name, rho]);
    }
    expect(twoSlotBound(gridCurve('a'), 0.31)).toBeUndefined();
  });

  test.each(CELLS)('beat greedy on the same arrivals: curve %s at load %d', async (name, rho) => {
    const scenario = poissonCell(name, 2, rho, 6000, 1);
    const runs = [await simulate(scenario, GREEDY), await simulate(scenario, boundOf(name, rho).contender)];
    const [greedyMs, optimumMs] = runs.map((run) => measure(run).meanMs) as [number, number];
    expect(optimumMs).toBeLessThan(greedyMs);
  });

  test.each([
    ['a', 0.5],
    ['d', 0.3],
    ['concave', 0.7],
    ['b', 0.5],
    ['resnet50', 0.7],
  ])(
    'are the means of their contenders, within the standard error: curve %s at load %d',
    async (name, rho) => {
      const { contender, meanMs } = boundOf(name, rho);
      const scenarioOf = (seed: number) => poissonCell(name, 2, rho, 12_000, seed);
      const { mean, standardError } = await ratioEstimate(scenarioOf, contender, meanMs, 6);
      expect(standardError).toBeLessThan(0.01);
      // Plus the error of the discretization.
      expect(Math.abs(mean - 1)).toBeLessThan(3.5 * standardError + 5e-4);
    },
  );

  test('throw for a curve that has changed', () => {
    const slower = { ...gridCurve('a'), durationMs: (size: number) => 5 + 0.11 * size };
    expect(() => twoSlotBound(slower, 0.5)).toThrow('Curve a has changed');
  });
});
