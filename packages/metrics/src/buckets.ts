/** The buckets of histograms, and merging of histograms with different bounds. */

/** For durations in seconds: from 0.1 ms to the longest timeout. */
export const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Larger batch sizes are counted in the last bucket. */
const MAX_SIZE = 2 ** 24;

/** For sizes: 1, 2, 4 … and the maximum. */
export function sizeBounds(maxBatchSize: number): readonly number[] {
  const max = Math.min(Math.max(1, maxBatchSize), MAX_SIZE);
  const bounds: number[] = [];
  for (let bound = 1; bound < max; bound *= 2) bounds.push(bound);
  bounds.push(max);
  return bounds;
}

export function validBounds(name: string, bounds: readonly number[]): readonly number[] {
  const isRising = bounds.every((bound, i) => Number.isFinite(bound) && bound > (bounds[i - 1] ?? -Infinity));
  if (isRising) return bounds;
  throw new TypeError(`the bounds of ${name} must be finite and ascending; got ${bounds.join(', ')}`);
}

/** The union of the bounds, ascending. */
export function unitedBounds(some: ArrayLike<number>, others: ArrayLike<number>): readonly number[] {
  const all = new Set([...Array.from(some), ...Array.from(others)]);
  return [...all].sort((a, b) => a - b);
}

/**
 * Adds counts to counts with more bounds. Each count goes to the bucket with the same upper bound, although some
 * values may belong to a lower new bucket. No count is lost, and the result does not depend on the order.
 */
export function addCounts(
  to: { bounds: ArrayLike<number>; counts: number[] | Float64Array },
  from: { bounds: ArrayLike<number>; counts: ArrayLike<number> },
): void {
  let at = 0;
  for (let i = 0; i < from.counts.length; i++) {
    const bound = from.bounds[i] ?? Number.POSITIVE_INFINITY;
    while (at < to.bounds.length && (to.bounds[at] as number) < bound) at += 1;
    to.counts[at] = (to.counts[at] ?? 0) + (from.counts[i] as number);
  }
}
