/** A comparison for people. */
import { type Palette, PLAIN } from '@batchwise/arena';
import type { ComparedMetric, Comparison, MetricName } from './compare.js';

const LABELS: Readonly<Record<MetricName, string>> = {
  mean_ms: 'mean latency',
  p50_ms: 'p50',
  p99_ms: 'p99',
  good_share: 'within target',
  failed_share: 'failed',
};

export function compareText(comparison: Comparison, palette: Palette = PLAIN): string {
  const { a, b, pairs, requestsPerBlock, metrics, warnings } = comparison;
  const rows = [
    ['', 'A', 'B', 'B − A', '95 % interval', ''],
    ...metrics.map((metric) => [
      LABELS[metric.name],
      written(metric.name, metric.a),
      written(metric.name, metric.b),
      signed(metric.name, metric.mean),
      `${signed(metric.name, metric.low)} to ${signed(metric.name, metric.high)}`,
      metric.differs ? 'differs' : 'no difference',
    ]),
  ];
  const widths =
    rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length))) ?? [];
  return [
    palette.heading(compareAnswer(comparison)),
    '',
    `A  ${a}`,
    `B  ${b}`,
    `${pairs} pairs of blocks, about ${Math.round(requestsPerBlock)} requests in each. Latency from the intended start.`,
    '',
    ...rows.map((row) =>
      row
        .map((cell, i) =>
          i === 0 || i === 5 ? cell.padEnd(widths[i] as number) : cell.padStart(widths[i] as number),
        )
        .join('  ')
        .trimEnd(),
    ),
    ...(warnings.length > 0 ? ['', ...warnings.map((text) => `${palette.bad('Warning:')} ${text}`)] : []),
    '',
  ].join('\n');
}

/** The answer in a sentence. */
export function compareAnswer({ metrics, pairs, differs }: Comparison): string {
  if (pairs === 0) return 'Nothing was compared: no pair of blocks is complete.';
  if (!differs) return 'No difference between A and B (5 % false positives over all metrics together).';
  const parts = metrics.filter((metric) => metric.differs).map(differenceOf);
  return `B differs from A: ${parts.join('; ')}.`;
}

function differenceOf(metric: ComparedMetric): string {
  const { name, a, mean } = metric;
  const relative = name.endsWith('_ms') && a > 0 ? ` (${signedNumber((100 * mean) / a, 1)} %)` : '';
  return `${LABELS[name]} ${signed(name, mean)}${relative}`;
}

function written(name: MetricName, value: number): string {
  if (name.endsWith('_ms')) return `${Number(value.toPrecision(4))} ms`;
  return `${Number((100 * value).toFixed(3))} %`;
}

/** Differences of shares are in percentage points. */
function signed(name: MetricName, value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  return name.endsWith('_ms') ? `${signedNumber(value, 3)} ms` : `${signedNumber(100 * value, 3)} pp`;
}

function signedNumber(value: number, digits: number): string {
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return '0';
  return `${value < 0 ? '−' : '+'}${Number(text)}`;
}
