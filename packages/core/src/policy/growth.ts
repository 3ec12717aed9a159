/**
 * How far batches may grow beyond all that was seen, when somebody would be late if they took longer than
 * expected. To grow too slowly makes everybody late who waits behind small batches; to leap, those who leap.
 */
import type { CurveEstimate } from '../learning/service-curve.js';

/** A batch more than so many times as large as any before is a leap. */
const LEAP = 2;
/** It may go further where that surely takes no more than so many times as long, up to so many times as far. */
const MOST_LONGER = 2;
const MOST_GROWTH = 8;
/** How much larger batches become from one to the next, mostly. */
export const USUAL_GROWTH = 4;
/** So steady is no clock. */
const LEAST_DOUBT = 0.04;

export interface Leap {
  /** What the batch may cost instead. */
  readonly cost: number;
  /** How long the one that was wanted takes at the worst. */
  readonly inProportionMs: number;
}

/** What becomes of a batch of this cost if nobody in it has time to spare; undefined when it is no leap. */
export function leapTo(curve: CurveEstimate, wanted: number): Leap | undefined {
  const largest = curve.points().at(-1);
  if (largest === undefined || wanted <= LEAP * largest.cost) return undefined;
  const inProportionMs = (largest.durationMs * wanted) / largest.cost;
  let cost = LEAP * largest.cost;
  // By doublings: a backend that pads shows its steps only there.
  while (
    2 * cost <= MOST_GROWTH * largest.cost &&
    boldlyMs(curve, 2 * cost) <= MOST_LONGER * largest.durationMs
  ) {
    cost *= 2;
  }
  return { cost: Math.min(cost, wanted), inProportionMs };
}

/**
 * How long a batch may take that may be far larger than any before: as long as on a line through the smallest
 * and the largest, if both were off by what they may be. Where only one size is known, in proportion.
 */
export function boldlyMs(curve: CurveEstimate, cost: number): number {
  const points = curve.points();
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined || cost <= LEAP * last.cost)
    return curve.predict(cost) as number;
  const inProportionMs = (last.durationMs * cost) / last.cost;
  if (first === last) return inProportionMs;
  const doubt = Math.max(LEAST_DOUBT, 2 * curve.spread);
  const riseMs = last.durationMs * (1 + doubt) - first.durationMs * (1 - doubt);
  const onLineMs = last.durationMs + (riseMs * (cost - last.cost)) / (last.cost - first.cost);
  return Math.min(inProportionMs, onLineMs);
}
