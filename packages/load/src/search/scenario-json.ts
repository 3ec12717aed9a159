/** A scenario for `batchwise arena --scenario` from a run: its curve, and its arrivals as a trace file or as a rate. */
import { LoadError } from '../load-error.js';
import type { LoadReport } from '../report/load-report.js';
import { type CurveOptions, serviceCurve } from './service-curve.js';

export interface ScenarioOptions extends CurveOptions {
  readonly name?: string;
  /** The trace file, relative to the scenario's. Without it: Poisson arrivals at the rate of the run. */
  readonly traceFile?: string;
  /** How many batches the target runs at a time. @default 1 */
  readonly slots?: number;
  /** @default the largest batch that was seen */
  readonly maxBatchSize?: number;
}

/** Keys as in docs/reference/scenario.md. */
export function scenarioJson(report: LoadReport, options: ScenarioOptions = {}): Record<string, unknown> {
  const { name, traceFile, slots, leastBatches } = options;
  const rate = report.arrivals?.requestedPerSecond ?? report.total.perSecond;
  if (traceFile === undefined && !(rate > 0)) {
    throw new LoadError('INVALID_OPTION', 'scenario: expected a run with requests, got none.');
  }
  const curve = serviceCurve(report.batchSizes, leastBatches === undefined ? {} : { leastBatches });
  // A curve goes on straight beyond its last point: rare large batches are still possible ones.
  const largest = report.batchSizes.reduce((most, { size }) => Math.max(most, Math.floor(size)), 1);
  return {
    ...(name !== undefined && { name }),
    curve,
    max_batch_size: options.maxBatchSize ?? largest,
    ...(slots !== undefined && { slots }),
    arrivals:
      traceFile === undefined
        ? { kind: 'poisson', rate: Number(rate.toPrecision(6)) }
        : { kind: 'trace', file: traceFile },
    ...(report.targetLatencyMs !== undefined && { target_latency_ms: report.targetLatencyMs }),
  };
}
