/**
 * The plan that core computes incrementally, against the exact optimum: its mean latency is computed as that of a Markov
 * chain, without simulation.
 */
import { describe, expect, test } from 'vitest';
import { DispatchPlan } from '../../core/src/policy/plan/dispatch-plan.js';
import { poissonOptimum } from '../src/bounds/poisson-optimum.js';
import { poissonWeights } from '../src/bounds/poisson-weights.js';
import { gridCurve } from '../src/grid/grid-curves.js';
import type { Curve } from '../src/simulation/curve.js';
import { perMsAt } from './bounds/support/grid.js';

/** Mean time in the system for one slot with Poisson arrivals, when `n` waiting items give this dispatch (0: wait). */
function meanMsOf(curve: Curve, perMs: number, sizeFor: (waiting: number) => number): number {
  const most = 5 * curve.maxBatchSize;
  const choices = Array.from({ length: most + 1 }, (_, n) => (n === 0 ? 0 : sizeFor(n)));
  const arrivals = new Map(
    [...new Set(choices)].map((size) => [
      size,
      poissonWeights(size === 0 ? 0 : perMs * curve.durationMs(size), 1e-9),
    ]),
  );
  let share = new Float64Array(most + 1).fill(1 / (most + 1));
  for (let round = 0; round < 3000; round++) {
    const next = new Float64Array(most + 1);
    const put = (n: number, part: number) => {
      const state = Math.min(n, most);
      next[state] = (next[state] as number) + part;
    };
    for (let n = 0; n <= most; n++) {
      const size = choices[n] as number;
      const part = share[n] as number;
      if (part < 1e-12) continue;
      if (size === 0) put(n + 1, part);
      else {
        const { first, weights } = arrivals.get(size) as { first: number; weights: Float64Array };
        for (let i = 0; i < weights.length; i++) put(n - size + first + i, part * (weights[i] as number));
      }
    }
    // Periodic chains have a mean as well.
    let change = 0;
    for (let n = 0; n <= most; n++) {
      const mixed = 0.5 * ((next[n] as number) + (share[n] as number));
      change += Math.abs(mixed - (share[n] as number));
      next[n] = mixed;
    }
    share = next;
    if (change < 1e-9) break;
  }
  let inSystemMs = 0;
  let ms = 0;
  for (let n = 0; n <= most; n++) {
    const size = choices[n] as number;
    const takesMs = size === 0 ? 1 / perMs : curve.durationMs(size);
    const come = size === 0 ? 0 : (perMs * takesMs * takesMs) / 2;
    inSystemMs += (share[n] as number) * (n * takesMs + come);
    ms += (share[n] as number) * takesMs;
  }
  return inSystemMs / ms / perMs; // Little
}

const STEPS: Record<string, readonly number[]> = {
  a: [],
  d: [1, 2, 4, 8, 16, 32],
  eights: [8, 16, 24, 32, 40, 48, 56],
  concave: [],
};

/** The size with the highest throughput. */
function bestSizeOf({ maxBatchSize, durationMs }: Curve): number {
  let best = maxBatchSize;
  for (let size = maxBatchSize; size >= 1; size--) {
    if (size * durationMs(best) > best * durationMs(size)) best = size;
  }
  return best;
}

function planFor(curve: Curve, perMs: number, steps: readonly number[]): DispatchPlan {
  const { maxBatchSize, durationMs } = curve;
  const atLeastOne = (cost: number) => durationMs(Math.max(1, cost));
  const sizes = steps.length > 0 ? steps : [1, 2, 4, 8, 16, 32];
  const plan = new DispatchPlan({
    slots: 1,
    maxBatchSize,
    ratePerMs: perMs,
    sizes,
    steps,
    bestSize: bestSizeOf(curve),
    durationMs: atLeastOne,
  });
  plan.work(1e8);
  return plan;
}

describe('the mean latency of a plan', () => {
  test('is computed correctly: for the optimum it is the optimum', () => {
    const curve = gridCurve('eights');
    const optimum = poissonOptimum(curve, perMsAt(curve, 1, 0.7));
    expect(meanMsOf(curve, optimum.perMs, optimum.batchSize) / optimum.meanMs).toBeCloseTo(1, 4);
  });

  const cells = Object.entries(STEPS).flatMap(([name, steps]) =>
    [0.3, 0.5, 0.7, 0.85].map((rho) => [name, rho, steps] as const),
  );
  test.each(cells)('is within 1 % of the optimum: curve %s at load %d', (name, rho, steps) => {
    const curve = gridCurve(name);
    const perMs = perMsAt(curve, 1, rho);
    const plan = planFor(curve, perMs, steps);
    const ratio = meanMsOf(curve, perMs, (n) => plan.sizeFor(n, 0)) / poissonOptimum(curve, perMs).meanMs;
    expect(ratio).toBeGreaterThan(1 - 1e-6);
    expect(ratio).toBeLessThan(1.01);
  });
  test('is below that of dispatching the whole queue, for a backend that pads', () => {
    const curve = gridCurve('d');
    const perMs = perMsAt(curve, 1, 0.7);
    const all = meanMsOf(curve, perMs, (n) => Math.min(n, curve.maxBatchSize));
    expect(all / poissonOptimum(curve, perMs).meanMs).toBeGreaterThan(1.5);
  });
});
