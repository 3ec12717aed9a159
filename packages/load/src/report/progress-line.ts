/** How a run stands, in one plain line, for output that cannot be redrawn. */
import { writtenBatch, writtenCount } from '@batchwise/arena';
import type { LoadReport } from './load-report.js';
import { writtenClock, writtenLatency, writtenRate } from './notation.js';
import { latestSecond } from './plot-series.js';

/** The rate and the gauges are those of the last second, the other figures those of the run so far. */
export function progressLine(report: LoadReport): string {
  const { total, traffic, seconds } = report;
  const { count, failed, rejected, latency, meanBatchSize } = total;
  const now = latestSecond(report);
  const parts = [
    writtenClock(seconds),
    writtenRate(now === undefined ? 0 : now.ok + now.failed + now.rejected),
    `${writtenCount(count)} requests`,
    `${writtenCount(failed)} failed`,
    `${writtenCount(rejected)} rejected`,
    `p50 ${writtenLatency(latency.p50, latency.count)}`,
    `p95 ${writtenLatency(latency.p95, latency.count)}`,
    `p99 ${writtenLatency(latency.p99, latency.count)}`,
    ...(traffic.kind === 'users' ? [`${writtenCount(now?.users ?? 0)} users`] : []),
    `${writtenCount(now?.inFlight ?? 0)} in flight`,
    ...(meanBatchSize === undefined ? [] : [`batch size ${writtenBatch(meanBatchSize)}`]),
  ];
  return parts.join('  ');
}
