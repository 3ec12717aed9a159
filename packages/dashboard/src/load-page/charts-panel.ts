/** The run over time: rates, percentiles, users, batch sizes, and the load of the generator itself. */
import { RUN_TIME } from '../page/axis.js';
import { type Bar, Bars } from '../page/bars.js';
import { Chart, type Line } from '../page/chart.js';
import { element } from '../page/dom.js';
import { count, milliseconds, percent } from '../page/numbers.js';
import type { LoadPageBatchSize, LoadPagePoint, LoadPageReport } from './page-state.js';

/** Sizes beyond it are put together in ranges. */
const MOST_BARS = 12;

export class ChartsPanel {
  readonly element: HTMLElement;
  #report: LoadPageReport | undefined = undefined;
  readonly #charts: readonly Chart<LoadPagePoint>[];
  readonly #sizes = new Bars('Requests by batch size', 'No response has a batch size in its headers.');

  constructor() {
    this.#charts = [
      this.#chart('Requests per second', count, [
        { label: 'ok', color: 'blue', of: ({ ok }) => ok },
        {
          label: 'within target',
          color: 'green',
          isOptional: true,
          of: ({ good }) => (this.#report?.targetLatencyMs === undefined ? undefined : good),
        },
        { label: 'rejected', color: 'orange', of: ({ rejected }) => rejected },
        { label: 'failed', color: 'red', of: ({ failed }) => failed },
        {
          label: 'due',
          color: 'muted',
          isDashed: true,
          isOptional: true,
          of: ({ arrivals }) => (this.#report?.traffic.kind === 'arrivals' ? arrivals.due : undefined),
        },
      ]),
      this.#chart('Latency of successful requests', milliseconds, [
        { label: 'p50', color: 'blue', of: answered(({ p50Ms }) => p50Ms) },
        { label: 'p95', color: 'violet', of: answered(({ p95Ms }) => p95Ms) },
        { label: 'p99', color: 'orange', of: answered(({ p99Ms }) => p99Ms) },
        { label: 'p99 intended', color: 'red', of: answered(({ intendedP99Ms }) => intendedP99Ms) },
        {
          label: 'target',
          color: 'green',
          isDashed: true,
          isOptional: true,
          of: () => this.#report?.targetLatencyMs,
        },
      ]),
      this.#chart('Users, requests in flight', count, [
        { label: 'users', color: 'blue', of: ({ users }) => users },
        { label: 'in flight', color: 'orange', of: ({ inFlight }) => inFlight },
      ]),
      this.#chart('Mean batch size', count, [
        { label: 'batch size', color: 'violet', of: ({ meanBatchSize }) => meanBatchSize },
      ]),
      this.#chart('CPU of the busiest generator process', (value) => percentText(value), [
        { label: 'CPU', color: 'muted', of: ({ cpuShare }) => cpuShare },
      ]),
    ];
    const cards = [...this.#charts, this.#sizes].map((card) => card.element);
    this.element = element('div', { className: 'cards' }, ...cards);
  }

  show(report: LoadPageReport, points: readonly LoadPagePoint[]): void {
    this.#report = report;
    for (const chart of this.#charts) chart.show(points);
    this.#sizes.show(sizeBars(report.batchSizes));
  }

  #chart(title: string, text: (value: number | undefined) => string, lines: readonly Line<LoadPagePoint>[]) {
    return new Chart({ title, axis: RUN_TIME, lines, text });
  }
}

/** A second without a successful response has no latency. */
function answered(of: (point: LoadPagePoint) => number): (point: LoadPagePoint) => number | undefined {
  return (point) => (point.ok > 0 ? of(point) : undefined);
}

function percentText(value: number | undefined): string {
  return value === undefined ? '–' : percent(value);
}

function sizeBars(sizes: readonly LoadPageBatchSize[]): Bar[] {
  const total = sizes.reduce((sum, { requests }) => sum + requests, 0);
  const most = sizes.at(-1)?.size ?? 0;
  const width = sizes.length > MOST_BARS ? Math.ceil(most / MOST_BARS) : 1;
  const ranges = new Map<number, number>();
  for (const { size, requests } of sizes) {
    const range = Math.ceil(size / width);
    ranges.set(range, (ranges.get(range) ?? 0) + requests);
  }
  return [...ranges].map(([range, value]) => ({
    name: width === 1 ? String(range) : `${(range - 1) * width + 1}–${range * width}`,
    value,
    text: percent(value / total),
  }));
}
