/** Histograms as Prometheus has them: how many were at most so large, for a few sizes. */

export interface Histogram {
  /** Ascending; the last is infinite. */
  readonly bounds: readonly number[];
  /** How many were within each bound and above the one before. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/** What has come since. Where there is less than before, the server was started again, and all has. */
export function since(before: Histogram, after: Histogram): Histogram {
  const isSame = after.count >= before.count && after.bounds.length === before.bounds.length;
  if (!isSame || before.count === 0) return after;
  return {
    bounds: after.bounds,
    // A process that has gone takes what it had counted with it.
    counts: after.counts.map((count, i) => Math.max(0, count - (before.counts[i] as number))),
    count: after.count - before.count,
    sum: Math.max(0, after.sum - before.sum),
  };
}

/** Of several, of which some may be empty, with whatever bounds the first has. */
export function together(histograms: readonly Histogram[]): Histogram {
  const [first = EMPTY] = histograms;
  const counts = first.bounds.map(() => 0);
  let count = 0;
  let sum = 0;
  for (const histogram of histograms) {
    if (histogram.bounds.length !== first.bounds.length) continue;
    for (const [i, more] of histogram.counts.entries()) counts[i] = (counts[i] as number) + more;
    count += histogram.count;
    sum += histogram.sum;
  }
  return { bounds: first.bounds, counts, count, sum };
}

/** By interpolation within a bucket, as in Prometheus; of the last, which has no end, its beginning. */
export function quantile({ bounds, counts }: Histogram, share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  const rank = share * total;
  let below = 0;
  for (const [i, count] of counts.entries()) {
    if (below + count < rank || count === 0) {
      below += count;
      continue;
    }
    const from = i === 0 ? 0 : (bounds[i - 1] as number);
    const to = bounds[i] as number;
    return Number.isFinite(to) ? from + ((to - from) * (rank - below)) / count : from;
  }
  return bounds.at(-2);
}

export const EMPTY: Histogram = { bounds: [], counts: [], count: 0, sum: 0 };
