/** The histogram of batch sizes from `/metrics`, as a plot in plain text. */

const WIDEST_BAR = 40;

interface Bucket {
  /** Sizes that the bucket counts, both ends included. */
  readonly from: number;
  readonly to: number;
  readonly batches: number;
}

/** @param name of a Prometheus histogram, without `_bucket` */
export function batchSizePlot(metrics: string, name: string): string {
  const buckets = bucketsOf(metrics, name);
  const most = Math.max(...buckets.map(({ batches }) => batches));
  const lines = buckets.map(({ from, to, batches }) => {
    const sizes = from === to ? String(to) : `${from}-${to}`;
    // A bucket that is not empty shows, however small it is.
    const bar = '█'.repeat(batches === 0 ? 0 : Math.max(1, Math.round((WIDEST_BAR * batches) / most)));
    return `${sizes.padStart(8)}  ${bar.padEnd(WIDEST_BAR)}  ${batches}`;
  });
  const batches = sampleOf(metrics, `${name}_count`);
  const mean = sampleOf(metrics, `${name}_sum`) / batches;
  return `${lines.join('\n')}\n${batches} batches, ${mean.toFixed(1)} requests in a batch on average`;
}

/** Buckets of Prometheus are cumulative: each one counts the sizes up to its `le`. */
function bucketsOf(metrics: string, name: string): Bucket[] {
  const buckets: Bucket[] = [];
  let [lastLimit, lastCount] = [0, 0];
  for (const [, limit, count] of metrics.matchAll(
    new RegExp(`^${name}_bucket{.*le="(\\d+)"} (\\d+)$`, 'gm'),
  )) {
    buckets.push({ from: lastLimit + 1, to: Number(limit), batches: Number(count) - lastCount });
    [lastLimit, lastCount] = [Number(limit), Number(count)];
  }
  if (buckets.length === 0) throw new Error(`Expected the histogram ${name} at /metrics, got none.`);
  return buckets;
}

function sampleOf(metrics: string, name: string): number {
  return Number(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'm').exec(metrics)?.[1]);
}
