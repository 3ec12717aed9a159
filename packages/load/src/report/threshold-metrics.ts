/** What a threshold may name, and where a report has its value. */
import type { Percentiles } from '../statistics/histogram.js';
import type { LoadReport, RequestFigures } from './load-report.js';

/** Latencies are in milliseconds, shares from 0 to 1. */
export type Quantity = 'latency' | 'share' | 'rate' | 'number';

export interface Metric {
  readonly quantity: Quantity;
  /** Undefined where the run has no value: no request is ok, no response tells its batch size. */
  readonly valueOf: (report: LoadReport) => number | undefined;
}

const LATENCIES = [
  'p50',
  'p66',
  'p75',
  'p80',
  'p90',
  'p95',
  'p98',
  'p99',
  'p999',
  'p9999',
  'mean',
  'min',
  'max',
] as const satisfies readonly (keyof Percentiles)[];

const PARTS: Readonly<Record<string, (total: RequestFigures) => Percentiles | undefined>> = {
  '': ({ latency }) => latency,
  intended_: ({ intended }) => intended,
  network_: ({ split }) => split?.network,
  queue_: ({ split }) => split?.queue,
  compute_: ({ split }) => split?.compute,
};

/** By name; `goodput` is a rate or, with %, the share of all requests. */
export const METRICS: ReadonlyMap<string, readonly Metric[]> = new Map<string, readonly Metric[]>([
  ...Object.entries(PARTS).flatMap(([prefix, part]) =>
    LATENCIES.map((name) => [prefix + name, [latencyOf(part, name)]] as const),
  ),
  ['error_rate', [shareOf(({ failed }) => failed)]],
  ['rejected_rate', [shareOf(({ rejected }) => rejected)]],
  [
    'goodput',
    [{ quantity: 'rate', valueOf: ({ total }) => total.goodPerSecond }, shareOf(({ good }) => good)],
  ],
  ['rate', [{ quantity: 'rate', valueOf: ({ total }) => total.perSecond }]],
  ['batch_size', [{ quantity: 'number', valueOf: ({ total }) => total.meanBatchSize }]],
]);

/** For messages: all names would be a wall of text. */
export const KNOWN_METRICS = `${LATENCIES.join(', ')} (of latency; also with ${Object.keys(PARTS)
  .filter((prefix) => prefix !== '')
  .join(', ')} before it), error_rate, rejected_rate, goodput, rate, batch_size`;

function latencyOf(
  part: (total: RequestFigures) => Percentiles | undefined,
  name: keyof Percentiles,
): Metric {
  return {
    quantity: 'latency',
    valueOf: ({ total }) => {
      const figures = part(total);
      return figures === undefined || figures.count === 0 ? undefined : figures[name];
    },
  };
}

function shareOf(count: (total: RequestFigures) => number): Metric {
  return {
    quantity: 'share',
    valueOf: ({ total }) => (total.count === 0 ? undefined : count(total) / total.count),
  };
}
