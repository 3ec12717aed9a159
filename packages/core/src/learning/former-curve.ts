/**
 * What was known of a backend before it changed, in case it changes back: after a slow spell all is as it
 * was, and need not be found out anew. It must not, either: while everything seems slow, most sizes are
 * never tried, and those that were slow then would be shunned for ever.
 */
import type { Bucket } from './curve-bucket.js';
import { durationAt } from './duration-at.js';
import { monotone } from './monotone.js';

/** So many batches in a row that take as long as they used to. */
const ENOUGH = 3;
/** How far off what it used to be a duration may be, at least. */
const LEAST_TOLERANCE = 0.125;
const MOST_TOLERANCE = 0.25;
/** After so many batches it has changed for good. */
const PATIENCE = 64;

export class FormerCurve {
  readonly buckets: Bucket[];
  readonly #spread: number;
  #batches = 0;
  #asBefore = 0;

  /** Sizes that are new may have been seen only since it has changed, before that was noticed: nothing is known of them. */
  constructor(buckets: readonly Bucket[], spread: number, samples: number) {
    this.buckets = buckets.filter(({ since }) => since + PATIENCE < samples || since === 0);
    this.#spread = spread;
  }

  get isForgotten(): boolean {
    return this.#batches > PATIENCE;
  }

  /** Takes note of a batch; returns true when the backend is as it was. */
  isBack(cost: number, durationMs: number): boolean {
    this.#batches += 1;
    const expected = this.#expected(cost);
    if (expected === undefined) return false; // nobody knows how long that took
    const tolerance = Math.min(MOST_TOLERANCE, Math.max(LEAST_TOLERANCE, 2 * this.#spread));
    const isAsBefore = Math.abs(durationMs - expected) <= tolerance * expected;
    this.#asBefore = isAsBefore ? this.#asBefore + 1 : 0;
    return this.#asBefore === ENOUGH;
  }

  /** Below what was seen, on the line through all of it: a batch of the smallest cost that was seen tells nothing of smaller ones. */
  #expected(cost: number): number | undefined {
    const points = monotone(this.buckets);
    const [first, last] = [points[0], points.at(-1)];
    if (first === undefined || last === undefined || cost >= first.cost) return durationAt(points, cost);
    if (first === last) return undefined;
    const slope = (last.durationMs - first.durationMs) / (last.cost - first.cost);
    return first.durationMs - slope * (first.cost - cost);
  }
}
