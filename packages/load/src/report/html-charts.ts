/** The plots of a report. What a run has no values for is not drawn. */
import {
  chartFigure,
  formatTarget,
  html,
  type LineChartSpec,
  type Markup,
  type Series,
} from '@batchwise/arena';
import type { Percentiles } from '../statistics/histogram.js';
import { batchRanges } from './batch-ranges.js';
import type { LoadReport } from './load-report.js';
import { differsFromIntended, formatSeconds } from './notation.js';
import { type PlotPoint, type PlotSeries, plotSeries } from './plot-series.js';

/** Colours mean the same in all plots. */
const LOOK = { first: 0, failed: 1, good: 2, other: 3, rejected: 4, intended: 5 } as const;
/** Above this ratio of the slowest to the usual, a linear axis would show the slowest alone. */
const LOG_FROM = 15;
const MOST_BATCH_SIZES = 100;

interface Plot {
  readonly spec: LineChartSpec;
  readonly caption: string;
}

export function reportCharts(report: LoadReport): Markup {
  const series = plotSeries(report);
  const time = timeAxis(report.seconds);
  const line: Line = (name, look, of, more) => ({
    name,
    look,
    points: series.points.map((point) => [point.at / time.secondsPerUnit, of(point)]),
    ...more,
  });
  const plots = [
    ratePlot(report, time, line, series),
    percentilesPlot(report, time, line, series),
    distributionPlot(report),
    gaugesPlot(report, time, line),
    splitPlot(report, time, line, series),
    batchTimePlot(report, time, line),
    batchLatencyPlot(report),
    batchShares(report),
  ].filter((plot) => plot !== undefined);
  return html`<div class="grid">
${plots.map(({ spec, caption }, i) => chartFigure(spec, caption, `plot-${i + 1}`))}
</div>`;
}

type Line = (name: string, look: number, of: (point: PlotPoint) => number, more?: Partial<Series>) => Series;

interface TimeAxis {
  readonly label: string;
  readonly secondsPerUnit: number;
}

function timeAxis(seconds: number): TimeAxis {
  if (seconds <= 600) return { label: 'time (s)', secondsPerUnit: 1 };
  if (seconds <= 3 * 3600) return { label: 'time (min)', secondsPerUnit: 60 };
  return { label: 'time (h)', secondsPerUnit: 3600 };
}

function severalSeconds({ secondsPerPoint }: PlotSeries, what: string): string {
  return secondsPerPoint === 1 ? '' : ` Each point is ${formatSeconds(secondsPerPoint)}: ${what}.`;
}

function ratePlot(
  { total, targetLatencyMs }: LoadReport,
  { label }: TimeAxis,
  line: Line,
  series: PlotSeries,
): Plot {
  return {
    spec: {
      title: 'Rate and failures',
      x: { label, min: 0 },
      y: { label: 'requests per second', min: 0 },
      series: [
        line('all', LOOK.first, (point) => point.perSecond, { emphasized: true }),
        ...(targetLatencyMs === undefined ? [] : [line('good', LOOK.good, (point) => point.goodPerSecond)]),
        ...(total.rejected === 0
          ? []
          : [line('rejected', LOOK.rejected, (point) => point.rejectedPerSecond)]),
        line('failed', LOOK.failed, (point) => point.failedPerSecond),
      ],
    },
    caption: `By the second in which the response came.${targetLatencyMs === undefined ? '' : ` Good: ok, and within ${formatTarget(targetLatencyMs)} of the intended start.`}${severalSeconds(series, 'means')}`,
  };
}

function percentilesPlot(report: LoadReport, time: TimeAxis, line: Line, series: PlotSeries): Plot {
  const { total, targetLatencyMs } = report;
  const hasIntended = differsFromIntended(total);
  const slowest = series.points.map((point) => (hasIntended ? point.intendedP99Ms : point.p99Ms));
  return {
    spec: {
      title: 'Latency over time',
      x: { label: time.label, min: 0 },
      y: { label: 'latency (ms)', ...latencyScale(slowest, total.latency.p50) },
      series: [
        line('p99', LOOK.failed, (point) => point.p99Ms, { emphasized: true }),
        line('p95', LOOK.other, (point) => point.p95Ms),
        line('p50', LOOK.first, (point) => point.p50Ms),
        ...(hasIntended
          ? [line('intended p99', LOOK.intended, (point) => point.intendedP99Ms, { dashed: true })]
          : []),
      ],
      ...targetMark(targetLatencyMs),
    },
    caption: `Of requests that are ok, from the actual start.${hasIntended ? ' Intended p99: from the intended start.' : ''}${severalSeconds(series, 'the highest percentile')}`,
  };
}

function latencyScale(values: readonly number[], usual: number): { scale: 'log' } | { min: 0 } {
  const highest = values.reduce((most, value) => (value > most ? value : most), 0);
  return usual > 0 && highest / usual > LOG_FROM ? { scale: 'log' } : { min: 0 };
}

function targetMark(targetLatencyMs: number | undefined): Pick<LineChartSpec, 'yMarks'> {
  return targetLatencyMs === undefined
    ? {}
    : { yMarks: [{ at: targetLatencyMs, label: `target: ${formatTarget(targetLatencyMs)}` }] };
}

function distributionPlot({ total, targetLatencyMs }: LoadReport): Plot {
  const { latency, intended } = total;
  const hasIntended = differsFromIntended(total);
  const slowest = hasIntended ? intended.max : latency.max;
  return {
    spec: {
      title: 'Latency by percentile',
      x: { label: 'percentile', scale: 'log', format: 'percentile' },
      y: { label: 'latency (ms)', ...latencyScale([slowest], latency.p50) },
      series: [
        {
          name: hasIntended ? 'actual start' : 'latency',
          look: LOOK.first,
          points: distribution(latency),
          emphasized: true,
        },
        ...(hasIntended
          ? [{ name: 'intended start', look: LOOK.intended, points: distribution(intended) }]
          : []),
      ],
      ...targetMark(targetLatencyMs),
    },
    caption:
      'Of requests that are ok. From 90 % to 99 % is as far as from 99 % to 99.9 %; the last point is the slowest request.',
  };
}

const SHOWN_PERCENTILES = [
  [50, 'p50'],
  [66, 'p66'],
  [75, 'p75'],
  [80, 'p80'],
  [90, 'p90'],
  [95, 'p95'],
  [98, 'p98'],
  [99, 'p99'],
  [99.9, 'p999'],
  [99.99, 'p9999'],
] as const satisfies readonly (readonly [number, keyof Percentiles])[];

/** One request in n is slower. Percentiles beyond 1 in `count` are all the slowest request. */
function distribution(figures: Percentiles): (readonly [number, number])[] {
  const { count, max } = figures;
  const points = SHOWN_PERCENTILES.map(
    ([percent, key]) => [Number((100 / (100 - percent)).toPrecision(9)), figures[key]] as const,
  ).filter(([oneIn]) => oneIn < count);
  return count < 2 ? points : [...points, [count, max]];
}

function gaugesPlot({ traffic, series }: LoadReport, { label }: TimeAxis, line: Line): Plot {
  const hasUsers = traffic.kind === 'users';
  const hasConnections = series.some(({ connections }) => connections > 0);
  return {
    spec: {
      title: hasUsers ? 'Users and requests in flight' : 'Requests in flight',
      x: { label, min: 0 },
      y: { label: 'number', min: 0 },
      series: [
        ...(hasUsers ? [line('users', LOOK.first, (point) => point.users, { emphasized: true })] : []),
        line('in flight', LOOK.good, (point) => point.inFlight),
        ...(hasConnections ? [line('connections', LOOK.other, (point) => point.connections)] : []),
      ],
    },
    caption: 'At the end of each second, all processes together.',
  };
}

function splitPlot(
  { total }: LoadReport,
  { label }: TimeAxis,
  line: Line,
  { points }: PlotSeries,
): Plot | undefined {
  if (total.split === undefined) return undefined;
  const slowest = points.map(({ networkMs, queueMs, computeMs }) => Math.max(networkMs, queueMs, computeMs));
  // A logarithmic axis has no place for 0: a server that queues nothing.
  const hasZero = points.some(({ networkMs, queueMs, computeMs }) => networkMs * queueMs * computeMs === 0);
  return {
    spec: {
      title: 'Where the time goes',
      x: { label, min: 0 },
      y: { label: 'mean (ms)', ...(hasZero ? { min: 0 } : latencyScale(slowest, total.split.compute.p50)) },
      series: [
        line('compute', LOOK.first, (point) => point.computeMs),
        line('queue', LOOK.failed, (point) => point.queueMs),
        line('network', LOOK.good, (point) => point.networkMs),
      ],
    },
    caption:
      'Queue and compute are from the response headers; network is the rest of the latency, including the generator.',
  };
}

function batchTimePlot({ total }: LoadReport, { label }: TimeAxis, line: Line): Plot | undefined {
  if (total.meanBatchSize === undefined) return undefined;
  return {
    spec: {
      title: 'Batch size over time',
      x: { label, min: 0 },
      y: { label: 'requests in a batch', min: 0 },
      series: [line('mean batch size', LOOK.first, (point) => point.meanBatchSize, { emphasized: true })],
      names: 'none',
    },
    caption: 'Of the batch that a request was in, on average over requests.',
  };
}

function batchLatencyPlot({ batchSizes, total }: LoadReport): Plot | undefined {
  if (batchSizes.length < 2) return undefined;
  const ranges = batchRanges(batchSizes, MOST_BATCH_SIZES);
  const points = (of: (range: (typeof ranges)[number]) => number) =>
    ranges.map((range) => [range.size, of(range)] as const);
  return {
    spec: {
      title: 'Latency against batch size',
      x: { label: 'requests in the batch', min: 0 },
      y: { label: 'mean (ms)', min: 0 },
      series: [
        { name: 'latency', look: LOOK.other, points: points(({ latencyMs }) => latencyMs), emphasized: true },
        ...(total.split !== undefined
          ? [
              { name: 'compute', look: LOOK.first, points: points(({ computeMs }) => computeMs) },
              { name: 'queue', look: LOOK.failed, points: points(({ queueMs }) => queueMs) },
            ]
          : []),
      ],
    },
    caption: 'Of requests that were in a batch of this size.',
  };
}

function batchShares({ batchSizes }: LoadReport): Plot | undefined {
  if (batchSizes.length < 2) return undefined;
  const ranges = batchRanges(batchSizes, MOST_BATCH_SIZES);
  const all = ranges.reduce((sum, { requests }) => sum + requests, 0);
  return {
    spec: {
      title: 'Requests by batch size',
      x: { label: 'requests in the batch', min: 0 },
      y: { label: 'share of requests', min: 0, format: 'percent' },
      series: [
        {
          name: 'share of requests',
          look: LOOK.first,
          points: ranges.map(({ size, requests }) => [size, requests / all]),
          emphasized: true,
        },
      ],
      names: 'none',
    },
    caption: `How many requests were in a batch of ${ranges.length === batchSizes.length ? 'this size' : 'about this size'}.`,
  };
}
