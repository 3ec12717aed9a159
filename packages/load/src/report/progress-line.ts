/** How a run stands, in one plain line, for output that cannot be redrawn. */
import { formatBatch, formatCount } from '@batchwise/arena';
import type { LoadReport } from './load-report.js';
import { formatClock, formatLatency, formatRate } from './notation.js';
import { latestSecond } from './plot-series.js';

/** The rate and the gauges are those of the last second, the other figures those of the run so far. */
export function progressLine(report: LoadReport): string {
  const { total, traffic, seconds } = report;
  const { count, failed, rejected, latency, meanBatchSize } = total;
  const now = latestSecond(report);
  const parts = [
    formatClock(seconds),
    formatRate(now === undefined ? 0 : now.ok + now.failed + now.rejected),
    `${formatCount(count)} requests`,
    `${formatCount(failed)} failed`,
    `${formatCount(rejected)} rejected`,
    `p50 ${formatLatency(latency.p50, latency.count)}`,
    `p95 ${formatLatency(latency.p95, latency.count)}`,
    `p99 ${formatLatency(latency.p99, latency.count)}`,
    ...(traffic.kind === 'users' ? [`${formatCount(now?.users ?? 0)} users`] : []),
    `${formatCount(now?.inFlight ?? 0)} in flight`,
    ...(meanBatchSize === undefined ? [] : [`batch size ${formatBatch(meanBatchSize)}`]),
  ];
  return parts.join('  ');
}
