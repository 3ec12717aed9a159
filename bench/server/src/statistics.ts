/** What is said of the samples of several rounds. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** The value below which so much of the samples lies; NaN of none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** `1.25 (1.20–1.31)` */
export function spreadText(samples: readonly number[], digits = 2): string {
  const [middle, low, high] = [median(samples), Math.min(...samples), Math.max(...samples)];
  return `${middle.toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`;
}
