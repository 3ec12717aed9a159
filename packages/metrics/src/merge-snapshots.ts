/**
 * Merges the snapshots of several processes. Counters and histograms are added; gauges follow their rule. The result
 * does not depend on the order or grouping of the processes.
 */
import { addCounts, unitedBounds } from './buckets.js';
import type {
  CounterSnapshot,
  GaugeRule,
  GaugeSnapshot,
  HistogramSeries,
  HistogramSnapshot,
  MetricSnapshot,
  MetricsSnapshot,
  ValueSeries,
} from './metrics-snapshot.js';

export function mergeSnapshots(snapshots: readonly MetricsSnapshot[]): MetricsSnapshot {
  const merged = new Map<string, MetricSnapshot>();
  for (const metric of snapshots.flat()) {
    const existing = merged.get(metric.name);
    merged.set(metric.name, existing === undefined ? metric : mergedMetric(existing, metric));
  }
  return [...merged.values()];
}

/** The part of a snapshot that is kept after its process has ended: counters and histograms, not gauges. */
export function countersOf(snapshot: MetricsSnapshot): MetricsSnapshot {
  return snapshot.filter(({ type }) => type !== 'gauge');
}

function mergedMetric(one: MetricSnapshot, other: MetricSnapshot): MetricSnapshot {
  const kind = kindOf(one);
  if (kind !== kindOf(other)) {
    throw new TypeError(`${one.name} is a ${kind} in one process and a ${kindOf(other)} in another`);
  }
  switch (one.type) {
    case 'counter': {
      const { series } = other as CounterSnapshot;
      return { ...one, series: mergedSeries(one.series, series, addedValue) };
    }
    case 'gauge': {
      const { series } = other as GaugeSnapshot;
      return { ...one, series: mergedSeries(one.series, series, byRule(one.rule)) };
    }
    case 'histogram': {
      const { series } = other as HistogramSnapshot;
      return { ...one, series: mergedSeries(one.series, series, addedHistogram) };
    }
  }
}

function kindOf(metric: MetricSnapshot): string {
  const how = metric.type === 'gauge' ? metric.rule : `1/${metric.parts}`;
  return `${metric.type} (${how}) by ${metric.labelNames.join(', ') || 'nothing'}`;
}

function mergedSeries<S extends { readonly labels: readonly string[] }>(
  some: readonly S[],
  others: readonly S[],
  both: (one: S, other: S) => S,
): S[] {
  const merged = new Map<string, S>();
  for (const series of [...some, ...others]) {
    const key = JSON.stringify(series.labels);
    const existing = merged.get(key);
    merged.set(key, existing === undefined ? series : both(existing, series));
  }
  return [...merged.values()];
}

function addedValue({ labels, value }: ValueSeries, other: ValueSeries): ValueSeries {
  return { labels, value: value + other.value };
}

function byRule(rule: GaugeRule): (one: ValueSeries, other: ValueSeries) => ValueSeries {
  switch (rule) {
    case 'sum':
      return addedValue;
    case 'max':
      return (one, other) => (one.value >= other.value ? one : other);
    case 'min':
      return (one, other) => (one.value <= other.value ? one : other);
  }
}

function addedHistogram(one: HistogramSeries, other: HistogramSeries): HistogramSeries {
  const bounds = unitedBounds(one.bounds, other.bounds);
  const counts = new Array<number>(bounds.length + 1).fill(0);
  addCounts({ bounds, counts }, one);
  addCounts({ bounds, counts }, other);
  return { labels: one.labels, bounds, counts, sum: one.sum + other.sum };
}
