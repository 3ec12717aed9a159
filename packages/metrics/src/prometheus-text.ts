/** Writes a snapshot in the Prometheus text exposition format, version 0.0.4. */
import type {
  HistogramSeries,
  HistogramSnapshot,
  MetricSnapshot,
  MetricsSnapshot,
} from './metrics-snapshot.js';

export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** A metric without series is omitted. */
export function prometheusText(snapshot: MetricsSnapshot): string {
  const lines: string[] = [];
  for (const metric of snapshot) {
    if (metric.series.length === 0) continue;
    lines.push(`# HELP ${metric.name} ${escapedHelp(metric.help)}`, `# TYPE ${metric.name} ${metric.type}`);
    addSamples(lines, metric);
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

function addSamples(lines: string[], metric: MetricSnapshot): void {
  if (metric.type === 'histogram') {
    for (const series of metric.series) addHistogram(lines, metric, series);
    return;
  }
  const parts = metric.type === 'counter' ? metric.parts : 1;
  for (const { labels, value } of metric.series) {
    lines.push(`${metric.name}${braced(pairs(metric.labelNames, labels))} ${value / parts}`);
  }
}

function addHistogram(lines: string[], metric: HistogramSnapshot, series: HistogramSeries): void {
  const { name, labelNames, parts } = metric;
  const labels = pairs(labelNames, series.labels);
  const beforeBound = labels === '' ? '' : `${labels},`;
  let count = 0;
  series.counts.forEach((inBucket, i) => {
    count += inBucket;
    lines.push(`${name}_bucket{${beforeBound}le="${series.bounds[i] ?? '+Inf'}"} ${count}`);
  });
  lines.push(`${name}_sum${braced(labels)} ${series.sum / parts}`, `${name}_count${braced(labels)} ${count}`);
}

function pairs(names: readonly string[], values: readonly string[]): string {
  return names.map((name, i) => `${name}="${escapedValue(values[i] ?? '')}"`).join(',');
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`;
}

function escapedValue(text: string): string {
  return escapedHelp(text).replaceAll('"', '\\"');
}

function escapedHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}
