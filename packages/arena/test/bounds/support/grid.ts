import { type Contender, type Curve, capacity, poisson, randomStream, type Scenario } from '@batchwise/arena';
import { greedy } from 'batchwise';
import { gridCurve } from '../../../src/grid/grid-curves.js';

export const GREEDY: Contender = { name: 'greedy', policy: () => greedy(), knowsTarget: false };

/** Poisson arrivals at a share of the maximum throughput. */
export function poissonCell(
  curveName: string,
  slots: number,
  rho: number,
  items: number,
  seed: number,
): Scenario {
  const curve = gridCurve(curveName);
  const arrivals = poisson(perMsAt(curve, slots, rho));
  const targetLatencyMs = Number.POSITIVE_INFINITY;
  return {
    name: `${curveName} ${rho}`,
    curve,
    slots,
    arrivals,
    items,
    targetLatencyMs,
    noise: 0,
    timerMs: 0,
    seed,
  };
}

export function perMsAt(curve: Curve, slots: number, rho: number): number {
  return rho * slots * capacity(curve).perMs;
}

export function poissonTimes(perMs: number, items: number, seed: number): Float64Array {
  const next = poisson(perMs).times(randomStream(seed, 'arrivals'));
  return Float64Array.from({ length: items }, () => next());
}
