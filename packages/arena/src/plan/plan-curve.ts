/** The few points of a service curve that say all of it, and the batch sizes worth a try. */
import type { CurvePoint } from 'batchwise';
import type { Curve } from '../simulation/curve.js';

/** How far off the straight line between two corners a curve may be: nothing, or else as little as it takes. */
const TOLERANCES = [1e-9, 0.002, 0.01];
/** More points than these nobody wants in a program. */
const MOST_CORNERS = 24;
const DIGITS = 4;
/** From which share of the best throughput on a smaller batch is as good. */
const AS_GOOD_AS_BEST = 0.99;

/**
 * What a batcher is told of the curve: its corners, with no more digits than anybody would type. Not
 * rounded when shown but before it is simulated, so that what is pasted is what was simulated.
 */
export function knownPoints(curve: Curve): CurvePoint[] {
  return cornersOf(curve).map(({ cost, durationMs }) => ({
    cost,
    durationMs: Number(durationMs.toPrecision(DIGITS)),
  }));
}

/** The corners of the curve, straight in between. Those of a table are its points. */
export function cornersOf(curve: Curve): CurvePoint[] {
  let corners: CurvePoint[] = [];
  for (const tolerance of TOLERANCES) {
    corners = cornersWithin(curve, tolerance);
    if (corners.length <= MOST_CORNERS) break;
  }
  return corners;
}

function cornersWithin(curve: Curve, tolerance: number): CurvePoint[] {
  let from = pointOf(curve, 1);
  const corners = [from];
  let last = from;
  // The slopes at which a line from the latest corner passes all points since near enough.
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
 * The largest batches worth a try, the likeliest first: the smallest with the best throughput, as large
 * as allowed, and one of which two fit into the target, for those who just missed a batch. None that
 * takes longer than the target by itself.
 */
export function sizesToTry(curve: Curve, targetMs: number): number[] {
  const fitting = largestWithin(curve, targetMs);
  const twiceFitting = largestWithin(curve, targetMs / 2);
  return [
    ...new Set([
      Math.min(efficientSize(curve), fitting),
      fitting,
      // Batches of one are no batches.
      twiceFitting > 1 ? twiceFitting : fitting,
    ]),
  ];
}

/** The smallest batch with the best throughput, or as good as that. */
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
