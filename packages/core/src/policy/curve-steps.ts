/**
 * Where a service curve has steps: the sizes at which a batch gets more done a millisecond than those
 * just above. A backend that pads to 32 has one at 32, one that gets slower past 24 has one there.
 */

import type { CurveEstimate, LearnedPoint } from '../learning/service-curve.js';
import type { Limits } from './policy.js';

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

/** How much more a smaller size must get done than the largest, at least, or as much as nobody is sure of. */
const LEAST_GAIN = 0.05;
/** How sure that has to be, in standard errors: of many sizes some are lucky. */
const SURE = 3;
/** From which share of the largest batch on it counts as seen, and how often it must have been where durations vary: once may be bad luck. */
const NEARLY_FULL = 0.9;
const LEAST_FULL = 3;

/** Where durations vary, sizes that differ by no more than this are looked at together. */
const MOST_REACH = 0.1;

/**
 * The size that gets most done a millisecond: the largest, unless a smaller one is better for sure. As
 * long as no full batch was seen, it is not: it would never be seen.
 */
export function quickestSize(curve: CurveEstimate, maxBatchSize: number): number {
  const { spread } = curve;
  const points = curve.points();
  const fullMs = curve.predict(maxBatchSize);
  const fullWeight = weightFrom(points, NEARLY_FULL * maxBatchSize);
  const leastFull = Math.max(1, Math.min(LEAST_FULL, weightToBeSure(spread)));
  if (fullMs === undefined || fullWeight < leastFull) return maxBatchSize;
  const reach = 1 + Math.min(MOST_REACH, spread / 2);
  const fullPerMs = maxBatchSize / fullMs;
  let quickest = maxBatchSize;
  let bestPerMs = fullPerMs;
  // Those that are within reach of the one that is looked at: from the first to the one before the next.
  let first = 0;
  let next = 0;
  let sumWeight = 0;
  let sumPerMs = 0;
  for (const { cost } of points) {
    if (cost >= maxBatchSize) break;
    for (; next < points.length && (points[next] as LearnedPoint).cost <= cost * reach; next++) {
      const { weight } = points[next] as LearnedPoint;
      sumWeight += weight;
      sumPerMs += weight * perMs(points[next] as LearnedPoint);
    }
    for (; (points[first] as LearnedPoint).cost * reach < cost; first++) {
      const { weight } = points[first] as LearnedPoint;
      sumWeight -= weight;
      sumPerMs -= weight * perMs(points[first] as LearnedPoint);
    }
    const meanPerMs = sumPerMs / sumWeight;
    const doubt = SURE * spread * Math.sqrt(1 / sumWeight + 1 / fullWeight);
    if (meanPerMs <= bestPerMs || meanPerMs < fullPerMs * (1 + Math.max(LEAST_GAIN, doubt))) continue;
    quickest = cost;
    bestPerMs = meanPerMs;
  }
  return quickest;
}

/** How many batches of this size and more were seen. */
function weightFrom(points: readonly LearnedPoint[], least: number): number {
  let sum = 0;
  for (let i = points.length - 1; i >= 0 && (points[i] as LearnedPoint).cost >= least; i--) {
    sum += (points[i] as LearnedPoint).weight;
  }
  return sum;
}

/** How many batches it takes to know how long they take, to some percent. */
export function weightToBeSure(spread: number): number {
  return (15 * spread) ** 2;
}

function perMs({ cost, durationMs }: LearnedPoint): number {
  return cost / durationMs;
}
