/** The picture of a comparison: how much slower B was than A in each pair, in percent of A's mean over all pairs. */
import { lineChart } from '@batchwise/arena';
import type { Comparison, MetricName } from './compare.js';

const NAMES: Partial<Record<MetricName, string>> = { mean_ms: 'mean', p50_ms: 'p50', p99_ms: 'p99' };

export function compareChart({ metrics }: Comparison): string {
  const latencies = metrics.filter(({ name, a }) => NAMES[name] !== undefined && a > 0);
  return lineChart({
    title: 'Latency of B against A, pair by pair',
    x: { label: 'pair' },
    y: { label: 'difference as a share of A', format: 'percent' },
    series: latencies.map(({ name, a, differences }) => ({
      name: NAMES[name] as string,
      points: differences.map((difference, i) => [i + 1, difference / a]),
      emphasized: name === 'mean_ms',
    })),
    yMarks: [{ at: 0, label: 'no difference' }],
  });
}
