/**
 * Counters, gauges and histograms, metrics of batchers and requests, the Prometheus text format, and host checks.
 *
 *     import { prometheusText, Registry, runnerInstruments, WatchedRunners } from '@batchwise/metrics';
 *     import { Batcher } from 'batchwise';
 *
 *     const registry = new Registry();
 *     const runners = new WatchedRunners(registry, runnerInstruments(registry));
 *     const doubled = new Batcher((numbers) => numbers.map((n) => 2 * n), { name: 'doubled', maxBatchSize: 8 });
 *     runners.watch({ name: 'doubled', stats: () => doubled.stats() }, 8);
 *     await Promise.all([1, 2, 3].map((n) => doubled.submit(n)));
 *     console.log(prometheusText(registry.snapshot())); // … batchwise_batch_size_sum{runner="doubled"} 3 …
 *     runners.close();
 */
export { DURATION_BOUNDS, sizeBounds } from './buckets.js';
export { buildInfo } from './build-info.js';
export type { Counter, CounterChild, CounterDefinition } from './counter.js';
export type { Gauge, GaugeChild, GaugeDefinition } from './gauge.js';
export type { Histogram, HistogramChild, HistogramDefinition } from './histogram.js';
export { hostRule } from './host-rule.js';
export { OTHER } from './label-sets.js';
export { type DelayMonitor, type Lag, LoopLag } from './loop-lag.js';
export { countersOf, mergeSnapshots } from './merge-snapshots.js';
export type { LabelValues, MetricDefinition } from './metric.js';
export { asPartOfName } from './metric-name.js';
export type {
  CounterSnapshot,
  GaugeRule,
  GaugeSnapshot,
  HistogramSeries,
  HistogramSnapshot,
  MetricSnapshot,
  MetricsSnapshot,
  ValueSeries,
} from './metrics-snapshot.js';
export { ownProcessMetrics } from './own-process-metrics.js';
export { PROMETHEUS_CONTENT_TYPE, prometheusText } from './prometheus-text.js';
export { Registry, type RegistryOptions } from './registry.js';
export {
  type Protocol,
  type ProtocolMetrics,
  type RequestMetrics,
  requestMetrics,
} from './request-metrics.js';
export { OUTCOMES, type Outcome, outcomeOf } from './request-outcome.js';
export { BATCH_SIZE, type RunnerInstruments, runnerInstruments } from './runner-instruments.js';
export type { WatchedRunner } from './runner-metrics.js';
export { RunningTotals } from './running-totals.js';
export { WatchedRunners } from './watched-runners.js';
