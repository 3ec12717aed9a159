/**
 * Tries sizes that were hardly seen, a few times each. Traffic makes batches of all sizes, but a backend
 * that pads shows its steps only at the very size of a step.
 */

import type { CurveEstimate } from '../learning/service-curve.js';
import { weightToBeSure } from './curve-steps.js';
import { MOST_SPREAD } from './plan/dispatch-planner.js';
import type { Limits, QueueView } from './policy.js';
import { lastUpTo } from './view-questions.js';

/** How often a size is tried before it counts as known: the more often the more durations vary, within bounds. */
const LEAST_PROBES = 3;
const MOST_PROBES = 6;
/** Not before so many batches, and at most once in so many. */
const FIRST_PROBE = 16;
const PROBE_EVERY = 4;
/** A rise of less than this is none. */
const LEAST_RISE = 0.03;

export class Probing {
  #from = FIRST_PROBE;
  /** How often each size was aimed at: what leaves may fall short of it, and would be aimed at for ever. */
  readonly #tries = new Map<number, number>();

  /** The size to try now, of the `cost` that would leave; 0 when there is none. */
  next({ curve, limits }: QueueView, cost: number): number {
    if (curve.samples < this.#from) return 0;
    const size = untriedSize(cost, curve, limits);
    const tries = this.#tries.get(size) ?? 0;
    if (size === 0 || tries >= probesFor(curve)) return 0;
    this.#tries.set(size, tries + 1);
    this.#from = curve.samples + PROBE_EVERY;
    return size;
  }
}

/** The largest size to learn below what waits that has hardly been tried and might be a step; 0 when there is none. */
function untriedSize(cost: number, curve: CurveEstimate, limits: Limits): number {
  const most = Math.min(cost, limits.maxBatchSize);
  if (limits.batchSizes.length > 0) return ifUntried(lastUpTo(limits.batchSizes, most), cost, curve);
  // Backends pad to powers of two, or to multiples of eight.
  const power = ifUntried(2 ** Math.floor(Math.log2(most)), cost, curve);
  if (power > 0 || most < 16) return power;
  const multiple = ifUntried(8 * Math.floor(most / 8), cost, curve);
  return multiple > 0 && mayBeStep(multiple, curve) ? multiple : 0;
}

/**
 * The size to serve of a long queue: the quickest that is known, or one above it as long as hardly any in between was
 * tried. Nobody else would try those: less is tried where less waits, and of a long queue always the quickest leaves.
 */
export function quickestOrAbove(quickest: number, { curve, limits, slots }: QueueView): number {
  const { maxBatchSize, batchSizes } = limits;
  // Where durations vary that much, the quickest is too often another.
  if (quickest >= maxBatchSize || slots > 1 || curve.spread > MOST_SPREAD) return quickest;
  const above =
    batchSizes.length > 0
      ? [batchSizes.find((size) => size > quickest) ?? maxBatchSize]
      : [2 ** (Math.floor(Math.log2(quickest)) + 1), 8 * (Math.floor(quickest / 8) + 1)];
  for (const size of above) {
    if (size <= maxBatchSize && weightBetween(quickest, size, curve) < probesFor(curve)) return size;
  }
  return quickest;
}

function weightBetween(above: number, upTo: number, curve: CurveEstimate): number {
  let sum = 0;
  for (const { cost, weight } of curve.points()) if (cost > above && cost <= upTo) sum += weight;
  return sum;
}

function ifUntried(size: number, cost: number, curve: CurveEstimate): number {
  return size >= 1 && size < cost && curve.weightOf(size) < probesFor(curve) ? size : 0;
}

function probesFor({ spread }: CurveEstimate): number {
  return Math.min(MOST_PROBES, Math.max(LEAST_PROBES, Math.ceil(weightToBeSure(spread))));
}

/** Between a smaller and a larger size that take as long, there is none. */
function mayBeStep(size: number, curve: CurveEstimate): boolean {
  let below = 0;
  for (const { cost, durationMs } of curve.points()) {
    if (cost < size) below = durationMs;
    else if (cost > size) return durationMs > below * (1 + LEAST_RISE);
  }
  return true;
}
