/**
 * Sizes to measure. Traffic makes batches of many sizes, but the steps of a backend that pads show only at the very
 * size of a step, and a queue that is always long never shows that smaller batches are better.
 */
import { LEARNED_BATCHES, SURE_WEIGHT } from '../learning/curve-table.js';
import type { CurveEstimate, LearnedPoint } from '../learning/service-curve.js';
import type { Limits } from './policy.js';

/** Batches from one probe to the next: probes cost at most a quarter of the batches. */
const PROBE_EVERY = 4;
/** The relative jump above a straight continuation that makes a step. */
const MIN_STEP_JUMP = 0.1;

export class Probing {
  #from = LEARNED_BATCHES;
  /** Probes so far, by size. Their number is limited, because a batch may be smaller than the size of its probe. */
  readonly #tries = new Map<number, number>();

  /** The size below `cost` to measure now, if it may have a higher throughput than a batch of `instead`; 0 for none. */
  candidate(curve: CurveEstimate, limits: Limits, cost: number, instead = cost): number {
    if (curve.samples < this.#from) return 0;
    const isOpen = (size: number) =>
      size >= 1 &&
      size < cost &&
      curve.weightOf(size) < SURE_WEIGHT &&
      (this.#tries.get(size) ?? 0) < SURE_WEIGHT;
    if (limits.batchSizes.length > 0) return limits.batchSizes.findLast(isOpen) ?? 0;
    const most = Math.min(cost, limits.maxBatchSize);
    const usual = Math.min(instead, limits.maxBatchSize);
    const perMs = usual / (curve.mean(usual) as number);
    const points = curve.points();
    const sizes = stepsToLocate(points);
    for (let power = 1; power <= most; power *= 2) sizes.push(power);
    // A larger batch is never quicker, which bounds the throughput of a size by the next smaller one that was measured.
    const mayBeBetter = (size: number) => {
      const below = points.findLast((point) => point.cost < size);
      return below === undefined || size > perMs * below.durationMs;
    };
    return Math.max(0, ...sizes.filter((size) => isOpen(size) && mayBeBetter(size)));
  }

  /** A batch of this size was dispatched as a probe. */
  tried(size: number, { samples }: CurveEstimate): void {
    this.#tries.set(size, (this.#tries.get(size) ?? 0) + 1);
    this.#from = samples + PROBE_EVERY;
  }
}

/** Where durations jump, there is a step: the sizes in the middle of such intervals, to halve them. */
function stepsToLocate(points: readonly LearnedPoint[]): number[] {
  const sizes: number[] = [];
  for (let i = 1; i + 1 < points.length; i++) {
    const [before, at, after] = [points[i - 1], points[i], points[i + 1]] as [
      LearnedPoint,
      LearnedPoint,
      LearnedPoint,
    ];
    const gap = after.cost - at.cost;
    const slope = (at.durationMs - before.durationMs) / (at.cost - before.cost);
    const isStep = after.durationMs > (at.durationMs + slope * gap) * (1 + MIN_STEP_JUMP);
    if (isStep && gap >= 2) sizes.push(Math.floor((at.cost + after.cost) / 2));
  }
  return sizes;
}
