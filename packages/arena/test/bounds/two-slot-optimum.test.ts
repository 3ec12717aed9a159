import { formulaCurve, measure, poisson, type Scenario, simulate } from '@batchwise/arena';
import { describe, expect, test } from 'vitest';
import { poissonWeights } from '../../src/bounds/poisson-weights.js';
import { twoSlotContender, twoSlotOptimum } from '../../src/bounds/two-slot-optimum.js';
import { GREEDY, perMsAt } from './support/grid.js';
import { ratioEstimate } from './support/ratio-estimate.js';

/** The mean time in M/D/2: at t plus one service time, items in service at t have completed and later arrivals have not. */
function meanOfTwoServers(serviceMs: number, perMs: number): number {
  const { first, weights } = poissonWeights(perMs * serviceMs);
  let share = new Float64Array(120);
  share[0] = 1;
  for (let round = 0; round < 400; round++) {
    const next = new Float64Array(share.length + weights.length + first);
    for (let n = 0; n < share.length; n++) {
      const left = Math.max(0, n - 2);
      weights.forEach((weight, i) => {
        next[left + first + i] = (next[left + first + i] as number) + weight * (share[n] as number);
      });
    }
    share = next.slice(0, share.length);
  }
  const inSystem = share.reduce((sum, probability, n) => sum + n * probability, 0);
  return inSystem / perMs;
}

function cellOf(curve: Scenario['curve'], perMs: number, seed: number): Scenario {
  const targetLatencyMs = Number.POSITIVE_INFINITY;
  const arrivals = poisson(perMs);
  return {
    name: 'two slots',
    curve,
    slots: 2,
    arrivals,
    items: 8000,
    targetLatencyMs,
    noise: 0,
    timerMs: 0,
    seed,
  };
}

describe('the optimum for two slots and Poisson arrivals', () => {
  test.each([0.3, 0.8])('is that of M/D/2 with a maximum batch size of 1, at load %d', (rho) => {
    const alone = formulaCurve('one by one', 1, () => 4);
    const { meanMs } = twoSlotOptimum(alone, perMsAt(alone, 2, rho));
    expect(meanMs / meanOfTwoServers(4, perMsAt(alone, 2, rho))).toBeCloseTo(1, 4);
  });

  test.each([
    ['straight', 0.7, (size: number) => 4 + 0.5 * size, 1.02],
    ['in steps of four', 0.6, (size: number) => 1 + 2 * Math.ceil(size / 4), 1.05],
  ])(
    'is the simulated mean of its contender, and below that of greedy: %s at load %d',
    async (name, rho, durationMs, atLeast) => {
      const curve = formulaCurve(name, 8, durationMs);
      const perMs = perMsAt(curve, 2, rho);
      const { meanMs, table } = twoSlotOptimum(curve, perMs, { steps: 30 });
      const contender = twoSlotContender(curve, table);
      const scenarioOf = (seed: number) => cellOf(curve, perMs, seed);
      const { mean, standardError } = await ratioEstimate(scenarioOf, contender, meanMs, 6);
      expect(standardError).toBeLessThan(0.01);
      expect(Math.abs(mean - 1)).toBeLessThan(3.5 * standardError);
      const runs = [await simulate(scenarioOf(1), GREEDY), await simulate(scenarioOf(1), contender)];
      const [greedyMs, optimumMs] = runs.map((run) => measure(run).meanMs) as [number, number];
      expect(greedyMs / optimumMs).toBeGreaterThan(atLeast);
    },
  );

  test('does not depend on the step of the remaining time', () => {
    const curve = formulaCurve('no step fits', 6, (size) => 1 + 2 * Math.sqrt(size));
    const means = [25, 50, 100].map(
      (steps) => twoSlotOptimum(curve, perMsAt(curve, 2, 0.6), { steps }).meanMs,
    );
    const [coarse, middle, fine] = means as [number, number, number];
    expect(Math.abs(coarse / fine - 1)).toBeLessThan(5e-3);
    expect(Math.abs(middle / fine - 1)).toBeLessThan(1e-3);
  });
});
