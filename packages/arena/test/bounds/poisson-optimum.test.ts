import { formulaCurve, measure, poissonOptimum, poissonOptimumContender, simulate } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { gridCurve } from '../../src/grid/grid-curves.js';
import { GREEDY, perMsAt, poissonCell } from './support/grid.js';
import { ratioEstimate } from './support/ratio-estimate.js';

describe('the optimum for one slot and Poisson arrivals', () => {
  // The mean of M/D/1 is known in closed form; near saturation it shows whether the table is too short.
  test.each([0.05, 0.5, 0.95, 0.99])('is that of M/D/1 with a maximum batch size of 1, at load %d', (rho) => {
    const alone = formulaCurve('one by one', 1, () => 4);
    expect(poissonOptimum(alone, rho / 4).meanMs).toBeCloseTo(4 + (4 * rho) / (2 * (1 - rho)), 6);
  });

  test('waits for a second item if it is free and arrives soon', () => {
    const pairs = formulaCurve('pairs', 2, () => 100);
    const { batchSize } = poissonOptimum(pairs, 0.015);
    expect([batchSize(0), batchSize(1), batchSize(2), batchSize(50), batchSize(1e6)]).toEqual([
      0, 0, 2, 2, 2,
    ]);
  });

  test('rounds down to a step of the curve, and waits for further items at small steps', () => {
    const curve = gridCurve('d');
    const { batchSize } = poissonOptimum(curve, perMsAt(curve, 1, 0.7));
    expect([1, 20, 40, 64, 100].map(batchSize)).toEqual([0, 16, 32, 64, 64]);
  });

  test.each([
    ['a', 0.5],
    ['c', 0.7],
    ['d', 0.5],
    ['eights', 0.7],
  ])(
    'is the simulated mean of its contender, within the standard error: curve %s at load %d',
    async (name, rho) => {
      const curve = gridCurve(name);
      const optimum = poissonOptimum(curve, perMsAt(curve, 1, rho));
      const contender = poissonOptimumContender(optimum);
      const scenarioOf = (seed: number) => poissonCell(name, 1, rho, 12_000, seed);
      const { mean, standardError } = await ratioEstimate(scenarioOf, contender, optimum.meanMs, 8);
      expect(standardError).toBeLessThan(0.01);
      expect(Math.abs(mean - 1)).toBeLessThan(3.5 * standardError);
    },
  );

  test.each([
    ['a', 0.5, 0.998, 1.006],
    ['c', 0.7, 0.998, 1.006],
    ['d', 0.5, 1.2, 1.4],
    ['d', 0.7, 2, 3],
    ['eights', 0.7, 1.08, 1.13],
  ])('greedy ÷ optimum on curve %s at load %d is between %d and %d', async (name, rho, least, most) => {
    const scenario = poissonCell(name, 1, rho, 40_000, 1);
    const best = poissonOptimumContender(poissonOptimum(scenario.curve, perMsAt(scenario.curve, 1, rho)));
    const ratio =
      measure(await simulate(scenario, GREEDY)).meanMs / measure(await simulate(scenario, best)).meanMs;
    expect(ratio).toBeGreaterThan(least);
    expect(ratio).toBeLessThan(most);
  });

  test('throws if there is none', () => {
    const curve = gridCurve('a');
    expect(() => poissonOptimum(curve, perMsAt(curve, 1, 1))).toThrow(
      /a maximum throughput of .* items\/ms, below/,
    );
    expect(() => poissonOptimum(curve, 0)).toThrow('perMs must be above 0, not 0');
  });

  test('runs only in scenarios of which it is the optimum', () => {
    const contender = poissonOptimumContender(poissonOptimum(gridCurve('c'), 0.5));
    expect(() => contender.policy(poissonCell('c', 2, 0.5, 10, 1))).toThrow('one slot of curve c');
    expect(() => contender.policy(poissonCell('a', 1, 0.5, 10, 1))).toThrow('one slot of curve c');
  });
});
