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

/** How much more a smaller size must get done than the largest, at least, or as much as nobody is sure of. */
const LEAST_GAIN = 0.05;
/** From which share of the largest batch on it counts as seen. */
const NEARLY_FULL = 0.9;

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
  if (fullMs === undefined || (points.at(-1)?.cost ?? 0) < NEARLY_FULL * maxBatchSize) return maxBatchSize;
  const leastWeight = weightToBeSure(spread);
  const reach = 1 + Math.min(MOST_REACH, spread / 2);
  let quickest = maxBatchSize;
  let bestPerMs = (maxBatchSize / fullMs) * (1 + Math.max(LEAST_GAIN, spread));
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
    if (sumWeight < leastWeight || sumPerMs <= bestPerMs * sumWeight) continue;
    quickest = cost;
    bestPerMs = sumPerMs / sumWeight;
  }
  return quickest;
}

/** How many batches it takes to know how long they take, to some percent. */
export function weightToBeSure(spread: number): number {
  return (15 * spread) ** 2;
}

function perMs({ cost, durationMs }: LearnedPoint): number {
  return cost / durationMs;
}
