/**
 * A service curve as a plan sees it: every whole size up to the largest, and as it is now, because a plan
 * that is made bit by bit must not see it change. Where durations vary, neighbouring sizes are averaged: a
 * plan looks for the best, and of many sizes that are known from a few batches each, the best is the luckiest.
 */
import type { CurveEstimate, CurvePoint } from '../../learning/service-curve.js';

/** How far apart the sizes are that are averaged: as a multiple of the spread, and at most. */
const REACH = 2;
const MOST_REACH = 0.12;

export function curveTable(
  curve: CurveEstimate,
  maxBatchSize: number,
  steps: readonly number[],
): (cost: number) => number {
  const knots = knotsOf(curve, maxBatchSize, steps);
  const slope = slopeBeyond(knots);
  const table = new Float64Array(maxBatchSize + 1);
  let next = 0;
  for (let cost = 0; cost <= maxBatchSize; cost++) {
    while (next < knots.length && (knots[next] as CurvePoint).cost < cost) next += 1;
    table[cost] = durationAt(knots, next, slope, Math.max(1, cost));
  }
  return (cost) => onTable(table, cost);
}

/** Between the knot before `next` and that one; beyond the last, along the slope. */
function durationAt(knots: readonly CurvePoint[], next: number, slope: number, cost: number): number {
  const right = knots[next];
  const left = knots[next - 1];
  if (left === undefined) return (right as CurvePoint).durationMs;
  if (right === undefined) return left.durationMs + slope * (cost - left.cost);
  const share = (cost - left.cost) / (right.cost - left.cost);
  return left.durationMs + share * (right.durationMs - left.durationMs);
}

/**
 * How durations grow beyond the largest size that was seen: as from half of it, or from the first, whichever
 * is steeper. To hope for more would be to count on sizes that nobody has tried to get through a long queue.
 */
function slopeBeyond(knots: readonly CurvePoint[]): number {
  const first = knots[0] as CurvePoint;
  const last = knots.at(-1) as CurvePoint;
  const half = knots.findLast(({ cost }) => 2 * cost <= last.cost) ?? first;
  return Math.max(slopeBetween(first, last), slopeBetween(half, last));
}

function slopeBetween(left: CurvePoint, right: CurvePoint): number {
  return right.cost > left.cost ? (right.durationMs - left.durationMs) / (right.cost - left.cost) : 0;
}

/** The means of neighbours that lie between the same steps, and both sides of each step. */
function knotsOf(curve: CurveEstimate, maxBatchSize: number, steps: readonly number[]): CurvePoint[] {
  const points = curve.points();
  const asPredicted = (cost: number) => ({ cost, durationMs: curve.predict(cost) as number });
  const reach = 1 + Math.min(MOST_REACH, REACH * curve.spread);
  const knots: CurvePoint[] = [];
  let step = 0;
  for (let first = 0; first < points.length; ) {
    const from = (points[first] as CurvePoint).cost;
    while (step < steps.length && (steps[step] as number) < from) {
      const size = steps[step++] as number;
      knots.push(asPredicted(size));
      if (size + 1 <= from) knots.push(asPredicted(size + 1));
    }
    const upTo = Math.min(from * reach, steps[step] ?? Number.POSITIVE_INFINITY);
    let sum = 0;
    let sumCost = 0;
    let sumMs = 0;
    for (; first < points.length && (sum === 0 || (points[first] as CurvePoint).cost <= upTo); first++) {
      const { cost, durationMs, weight } = points[first] as CurvePoint & { weight: number };
      sum += weight;
      sumCost += weight * cost;
      sumMs += weight * durationMs;
    }
    knots.push({ cost: sumCost / sum, durationMs: sumMs / sum });
  }
  // Sizes that the backend is known to pad to, though none so large was seen.
  const unseen = steps.slice(step);
  for (const size of unseen) knots.push(asPredicted(size), asPredicted(size + 1));
  if (unseen.length > 0) knots.push(asPredicted(maxBatchSize));
  return knots;
}

function onTable(table: Float64Array, cost: number): number {
  const below = Math.min(table.length - 1, Math.floor(cost));
  const value = table[below] as number;
  const next = table[below + 1];
  return next === undefined ? value : value + (cost - below) * (next - value);
}
