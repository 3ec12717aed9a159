/**
 * What a process has counted, as plain data that can be sent to another one. Nothing in it is NaN or
 * infinite, so JSON carries it as well as a structured clone does.
 */

/**
 * How the gauges of several processes make one. There is no label for the process: it would be a new
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
  /** The upper bounds of the buckets, rising; the last bucket, without a bound, is left out. */
  readonly bounds: readonly number[];
  /** How many fell into each bucket and into none before it; one more than there are bounds. */
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
 * `parts`: one is counted as so many. What is not whole, such as seconds, is kept in whole millionths:
 * whole numbers come to the same in whatever order they are added up, and a sum that came out a trace
 * smaller because a process died would be taken for a counter that was set back.
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
