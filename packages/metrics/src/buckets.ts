/** The buckets of histograms: which there are, and how those with different bounds are put together. */

/** For durations in seconds: from a wait that hardly was one to the longest time-out. */
export const DURATION_BOUNDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** Beyond that a batch of any size counts as the largest. */
const LARGEST_SIZE = 2 ** 24;

/** For sizes: 1, 2, 4 … and the largest. */
export function sizeBounds(maxBatchSize: number): readonly number[] {
  const max = Math.min(Math.max(1, maxBatchSize), LARGEST_SIZE);
  const bounds: number[] = [];
  for (let bound = 1; bound < max; bound *= 2) bounds.push(bound);
  bounds.push(max);
  return bounds;
}

export function validBounds(name: string, bounds: readonly number[]): readonly number[] {
  const isRising = bounds.every((bound, i) => Number.isFinite(bound) && bound > (bounds[i - 1] ?? -Infinity));
  if (isRising) return bounds;
  throw new TypeError(`the bounds of ${name} must be finite and rising; got ${bounds.join(', ')}`);
}

/** All the bounds of both, rising. */
export function unitedBounds(some: ArrayLike<number>, others: ArrayLike<number>): readonly number[] {
  const all = new Set([...Array.from(some), ...Array.from(others)]);
  return [...all].sort((a, b) => a - b);
}

/**
 * Adds counts by some bounds to counts by more. What was counted up to a bound stays so, though some of it
 * would have gone below a bound that was not there: nothing is lost, and the order of adding is all the same.
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
