/**
 * The metrics of a process as plain data. No value is NaN or infinite, so JSON and structured clone can both
 * represent it.
 */

/**
 * How the gauges of several processes are merged. There is no label for the process, because it would create a new
 * series after every restart.
 */
export type GaugeRule = 'sum' | 'max' | 'min';

export interface ValueSeries {
  /** In the order of `labelNames`. */
  readonly labels: readonly string[];
  readonly value: number;
}

export interface HistogramSeries {
  readonly labels: readonly string[];
  /** The upper bounds of the buckets, ascending, without infinity. */
  readonly bounds: readonly number[];
  /** The count of each bucket, not cumulative; one more than there are bounds. */
  readonly counts: readonly number[];
  /** In `parts`. */
  readonly sum: number;
}

interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
}

/**
 * `parts` is the number of counted parts per unit. Fractional values, such as seconds, are kept in whole millionths:
 * the sum of integers does not depend on the order. A floating-point sum could decrease slightly when a process ends,
 * and Prometheus would treat that as a counter reset.
 */
export interface CounterSnapshot extends Described {
  readonly type: 'counter';
  readonly parts: number;
  /** Values in `parts`. */
  readonly series: readonly ValueSeries[];
}

export interface GaugeSnapshot extends Described {
  readonly type: 'gauge';
  readonly rule: GaugeRule;
  readonly series: readonly ValueSeries[];
}

export interface HistogramSnapshot extends Described {
  readonly type: 'histogram';
  readonly parts: number;
  readonly series: readonly HistogramSeries[];
}

export type MetricSnapshot = CounterSnapshot | GaugeSnapshot | HistogramSnapshot;

export type MetricsSnapshot = readonly MetricSnapshot[];
