/**
 * The three CSV files of Locust with its columns, so that scripts made for Locust read them: `_stats.csv`,
 * `_stats_history.csv` and `_failures.csv`. Locust has no column for rejected requests and counts a 429 as a failure;
 * so do these files. Latencies are those of requests that are ok, in milliseconds.
 */
import type { Percentiles } from '../statistics/histogram.js';
import { csvText } from './csv.js';
import type { LoadReport, RequestFigures } from './load-report.js';

const PERCENTILES = [
  ['50%', 'p50'],
  ['66%', 'p66'],
  ['75%', 'p75'],
  ['80%', 'p80'],
  ['90%', 'p90'],
  ['95%', 'p95'],
  ['98%', 'p98'],
  ['99%', 'p99'],
  ['99.9%', 'p999'],
  ['99.99%', 'p9999'],
  ['100%', 'max'],
] as const satisfies readonly (readonly [string, keyof Percentiles])[];

const PERCENTILE_COLUMNS = PERCENTILES.map(([column]) => column);

const STATS_COLUMNS = [
  'Type',
  'Name',
  'Request Count',
  'Failure Count',
  'Median Response Time',
  'Average Response Time',
  'Min Response Time',
  'Max Response Time',
  'Average Content Size',
  'Requests/s',
  'Failures/s',
  ...PERCENTILE_COLUMNS,
];

const HISTORY_COLUMNS = [
  'Timestamp',
  'User Count',
  'Type',
  'Name',
  'Requests/s',
  'Failures/s',
  ...PERCENTILE_COLUMNS,
  'Total Request Count',
  'Total Failure Count',
  'Total Median Response Time',
  'Total Average Response Time',
  'Total Min Response Time',
  'Total Max Response Time',
  'Total Average Content Size',
];

const FAILURES_COLUMNS = ['Method', 'Name', 'Error', 'Occurrences'];

/** One row for each name, then the total. */
export function statsCsv({ requests, total, seconds }: LoadReport): string {
  const row = (figures: RequestFigures, [type, name]: readonly [string, string]) => {
    const { count, failed, rejected, latency, meanResponseBytes, perSecond } = figures;
    return [
      type,
      name,
      count,
      failed + rejected,
      ...middleCells(latency),
      rounded(meanResponseBytes),
      rounded(perSecond),
      rounded(seconds > 0 ? (failed + rejected) / seconds : 0),
      ...percentileCells(latency),
    ];
  };
  return csvText([
    STATS_COLUMNS,
    ...requests.map((figures) => row(figures, typeAndName(figures.name))),
    row(total, ['', total.name]),
  ]);
}

/** One row for each second, of all names together; percentiles and totals are those of the run so far, as in Locust. */
export function historyCsv({ series, startedAt, total }: LoadReport): string {
  const start = Date.parse(startedAt);
  let [requests, failures] = [0, 0];
  const rows = series.map(({ second, users, ok, failed, rejected, soFar }) => {
    const ended = ok + failed + rejected;
    requests += ended;
    failures += failed + rejected;
    return [
      Math.floor(start / 1000 + second + 1),
      users,
      '',
      total.name,
      ended,
      failed + rejected,
      ...percentileCells(soFar.latency),
      requests,
      failures,
      ...middleCells(soFar.latency),
      rounded(soFar.meanResponseBytes),
    ];
  });
  return csvText([HISTORY_COLUMNS, ...rows]);
}

export function failuresCsv({ failures }: LoadReport): string {
  return csvText([
    FAILURES_COLUMNS,
    ...failures.map(({ name, reason, count }) => [...typeAndName(name), reason, count]),
  ]);
}

const METHOD = /^([A-Z]+) (.*)$/s;

/** `POST /classify` is of type POST in Locust. A name without a method has no type. */
function typeAndName(name: string): readonly [type: string, name: string] {
  const [, type = '', rest = name] = METHOD.exec(name) ?? [];
  return [type, rest];
}

/** Median, average, least and largest. */
function middleCells({ p50, mean, min, max }: Percentiles): number[] {
  return [p50, mean, min, max].map(rounded);
}

function percentileCells(latency: Percentiles): number[] {
  return PERCENTILES.map(([, key]) => (latency.count === 0 ? Number.NaN : rounded(latency[key])));
}

/** To a microsecond: as fine as latencies are recorded. */
function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
