/** What is said of the samples of several rounds. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function summaryOf(samples: readonly number[]): Summary {
  return { median: medianOf(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

export function medianOf(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** The value below which so much of the samples lies; NaN of none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** One ratio for each round: what a noisy minute does to both sides cancels out. */
export function pairedRatios(above: readonly number[], below: readonly number[]): number[] {
  return above.map((value, round) => value / (below[round] ?? Number.NaN));
}
