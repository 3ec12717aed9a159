/** The series of a report as plots show it: whole seconds, and no more points than can be told apart. */
import type { SeriesPoint } from '../statistics/statistics.js';
import type { LoadReport } from './load-report.js';

/** More points than this are closer together than the width of a line. */
const MOST_POINTS = 180;
/** A last second that the run has seen less of than this has no rate worth showing. */
const LEAST_SHARE = 0.5;

/** One or several seconds. Rates are means over them, percentiles the highest of them. */
export interface PlotPoint {
  /** The middle of its time. */
  readonly at: number;
  readonly perSecond: number;
  readonly goodPerSecond: number;
  readonly failedPerSecond: number;
  readonly rejectedPerSecond: number;
  readonly users: number;
  readonly inFlight: number;
  readonly connections: number;
  /** NaN where there is nothing to show. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly intendedP99Ms: number;
  readonly meanBatchSize: number;
  readonly networkMs: number;
  readonly queueMs: number;
  readonly computeMs: number;
}

export interface PlotSeries {
  readonly points: readonly PlotPoint[];
  readonly secondsPerPoint: number;
}

export function plotSeries({ series, seconds }: LoadReport): PlotSeries {
  const whole = series.filter(({ second }) => second >= seconds || seconds - second >= LEAST_SHARE);
  const secondsPerPoint = Math.ceil(whole.length / MOST_POINTS) || 1;
  const points: PlotPoint[] = [];
  for (let i = 0; i < whole.length; i += secondsPerPoint) {
    points.push(pointOf(whole.slice(i, i + secondsPerPoint), seconds));
  }
  return { points, secondsPerPoint };
}

/** The last second that all processes have reported; undefined before the first. */
export function latestSecond({ series, seconds, generator }: LoadReport): SeriesPoint | undefined {
  const late = generator.processes > 1 ? 2 : 1;
  return series.findLast(({ second }) => second + late <= seconds) ?? series.at(-1);
}

function pointOf(seconds: readonly SeriesPoint[], end: number): PlotPoint {
  const first = seconds[0] as SeriesPoint;
  const covered = seconds.reduce(
    (sum, { second }) => sum + (second >= end ? 1 : Math.min(1, end - second)),
    0,
  );
  const rate = (of: (one: SeriesPoint) => number) => seconds.reduce((sum, one) => sum + of(one), 0) / covered;
  const answered = seconds.filter(({ ok }) => ok > 0);
  const highest = (of: (one: SeriesPoint) => number) =>
    answered.length === 0 ? Number.NaN : Math.max(...answered.map(of));
  /** Weighted by requests. */
  const mean = (of: (one: SeriesPoint) => number | undefined) => {
    let [sum, weight] = [0, 0];
    for (const one of answered) {
      const value = of(one);
      if (value === undefined) continue;
      sum += value * one.ok;
      weight += one.ok;
    }
    return weight === 0 ? Number.NaN : sum / weight;
  };
  const gauge = (of: (one: SeriesPoint) => number) => Math.max(...seconds.map(of));
  return {
    at: first.second + seconds.length / 2,
    perSecond: rate(({ ok, rejected, failed }) => ok + rejected + failed),
    goodPerSecond: rate(({ good }) => good),
    failedPerSecond: rate(({ failed }) => failed),
    rejectedPerSecond: rate(({ rejected }) => rejected),
    users: gauge(({ users }) => users),
    inFlight: gauge(({ inFlight }) => inFlight),
    connections: gauge(({ connections }) => connections),
    p50Ms: highest(({ p50Ms }) => p50Ms),
    p95Ms: highest(({ p95Ms }) => p95Ms),
    p99Ms: highest(({ p99Ms }) => p99Ms),
    intendedP99Ms: highest(({ intendedP99Ms }) => intendedP99Ms),
    meanBatchSize: mean((one) => one.meanBatchSize),
    networkMs: mean((one) => one.networkMs),
    queueMs: mean((one) => one.queueMs),
    computeMs: mean((one) => one.computeMs),
  };
}
