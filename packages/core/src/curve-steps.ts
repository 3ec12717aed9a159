/**
 * Where a service curve has steps: the sizes at which a batch gets more done a millisecond than those
 * just above. A backend that pads to 32 has one at 32, one that gets slower past 24 has one there.
 */
import type { Limits } from './policy.js';
import type { CurveEstimate, LearnedPoint } from './service-curve.js';

/** How much worse the next sizes must be. */
const LEAST_STEP = 0.03;
/** And how much worse than their doubt, in standard errors. */
const DOUBT = 3;
/** How far above a size the next ones are looked at. */
const REACH = 1.5;

/** The steps below the largest batch, rising. */
export function curveSteps(curve: CurveEstimate, { maxBatchSize, batchSizes }: Limits): readonly number[] {
  if (batchSizes.length > 0) return batchSizes.filter((size) => size < maxBatchSize);
  const points = curve.points();
  const steps: number[] = [];
  for (let i = 0; i < points.length; i++) {
    const { cost } = points[i] as LearnedPoint;
    if (cost >= maxBatchSize) break;
    if (Number.isInteger(cost) && isStep(points, i, curve.spread)) steps.push(cost);
  }
  return steps;
}

function isStep(points: readonly LearnedPoint[], index: number, spread: number): boolean {
  const { cost, durationMs, weight } = points[index] as LearnedPoint;
  const perMs = cost / durationMs;
  for (let i = index + 1; i < points.length; i++) {
    const next = points[i] as LearnedPoint;
    if (next.cost > REACH * cost + 1) return false;
    const nextPerMs = next.cost / next.durationMs;
    if (nextPerMs > perMs) return false;
    const doubt = DOUBT * spread * Math.sqrt(1 / weight + 1 / next.weight);
    if (nextPerMs < perMs * (1 - Math.max(LEAST_STEP, doubt))) return true;
  }
  return false;
}
