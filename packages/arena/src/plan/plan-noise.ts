/** The noise of durations, estimated from a measured curve. */

/** Distance from the 10th to the 90th percentile of a normal distribution, in standard deviations. */
const STANDARD_DEVIATIONS = 2.5631;

/** The standard deviation of the logarithm of a duration with these percentiles. */
export function noiseBetween(p10Ms: number, p90Ms: number): number {
  return p10Ms > 0 && p90Ms > p10Ms ? Math.log(p90Ms / p10Ms) / STANDARD_DEVIATIONS : 0;
}

/**
 * The noise of a stored measurement: the median over its sizes; undefined without percentiles. `value` must have been
 * accepted by `parseCurve`.
 */
export function curveNoise(value: unknown): number | undefined {
  const noises = entriesOf(value).flatMap((measured) => {
    const { p10_ms: p10, p90_ms: p90 } = measured as { p10_ms?: unknown; p90_ms?: unknown };
    return typeof p10 === 'number' && typeof p90 === 'number' ? noiseBetween(p10, p90) : [];
  });
  return median(noises);
}

/** The measurements by size; the curve may be nested under a name. */
function entriesOf(value: unknown): object[] {
  const entries = isObject(value) ? Object.values(value).filter(isObject) : [];
  const [only] = entries;
  return entries.length === 1 && only !== undefined && !('p50_ms' in only) ? entriesOf(only) : entries;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const upper = sorted[half];
  if (upper === undefined) return undefined;
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] as number) + upper) / 2;
}
