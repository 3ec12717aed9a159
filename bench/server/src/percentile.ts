/** The value below which so much of the samples lies; NaN of none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function medianOf(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
