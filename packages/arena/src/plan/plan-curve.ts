/** The points that describe a service curve, and the candidates for the maximum batch size. */
import type { CurvePoint } from 'batchwise';
import type { Curve } from '../simulation/curve.js';

/** Relative errors of the linear interpolation between corners, tried in order. */
const TOLERANCES = [1e-9, 0.002, 0.01];
/** More points are too long for source code. */
const MAX_CORNERS = 24;
const DIGITS = 4;
/** A smaller batch with this share of the best throughput is as good. */
const AS_GOOD_AS_BEST = 0.99;

/**
 * The `curve` option for a curve: its corners, rounded. Rounded before the simulation, so that the printed settings are
 * the simulated ones.
 */
export function knownPoints(curve: Curve): CurvePoint[] {
  return cornersOf(curve).map(({ cost, durationMs }) => ({
    cost,
    durationMs: Number(durationMs.toPrecision(DIGITS)),
  }));
}

/** The corners of the curve, linear in between. Those of a table are its points. */
export function cornersOf(curve: Curve): CurvePoint[] {
  let corners: CurvePoint[] = [];
  for (const tolerance of TOLERANCES) {
    corners = cornersWithin(curve, tolerance);
    if (corners.length <= MAX_CORNERS) break;
  }
  return corners;
}

function cornersWithin(curve: Curve, tolerance: number): CurvePoint[] {
  let from = pointOf(curve, 1);
  const corners = [from];
  let last = from;
  // The range of slopes at which a line from the latest corner is within the tolerance of all points since.
  let least = Number.NEGATIVE_INFINITY;
  let most = Number.POSITIVE_INFINITY;
  for (let cost = 2; cost <= curve.maxBatchSize; cost++) {
    const point = pointOf(curve, cost);
    let slope = slopeTo(from, point);
    if (slope < least || slope > most) {
      from = last;
      corners.push(from);
      slope = slopeTo(from, point);
      least = Number.NEGATIVE_INFINITY;
      most = Number.POSITIVE_INFINITY;
    }
    const leeway = (tolerance * point.durationMs) / (cost - from.cost);
    least = Math.max(least, slope - leeway);
    most = Math.min(most, slope + leeway);
    last = point;
  }
  if (last !== from) corners.push(last);
  return corners;
}

function pointOf(curve: Curve, cost: number): CurvePoint {
  return { cost, durationMs: curve.durationMs(cost) };
}

function slopeTo(from: CurvePoint, to: CurvePoint): number {
  return (to.durationMs - from.durationMs) / (to.cost - from.cost);
}

/**
 * Candidates for the maximum batch size, the likeliest first: the smallest size with the best throughput, the largest
 * size within the target, and the largest size with 2·T(b) within the target, for items that just missed a batch.
 */
export function sizesToTry(curve: Curve, targetLatencyMs: number): number[] {
  const fitting = largestWithin(curve, targetLatencyMs);
  const twiceFitting = largestWithin(curve, targetLatencyMs / 2);
  return [
    ...new Set([
      Math.min(efficientSize(curve), fitting),
      fitting,
      // Size 1 would not batch at all.
      twiceFitting > 1 ? twiceFitting : fitting,
    ]),
  ];
}

/** The smallest batch size with about the best throughput. */
export function efficientSize(curve: Curve): number {
  const corners = cornersOf(curve);
  const best = Math.max(...corners.map(({ cost, durationMs }) => cost / durationMs));
  const smallest = corners.find(({ cost, durationMs }) => cost / durationMs >= AS_GOOD_AS_BEST * best);
  return smallest?.cost ?? curve.maxBatchSize;
}

function largestWithin(curve: Curve, ms: number): number {
  let size = curve.maxBatchSize;
  while (size > 1 && curve.durationMs(size) > ms) size -= 1;
  return size;
}
