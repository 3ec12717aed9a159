/** What one runner does: how its batches are formed, and what they cost. */
import { TIME_OF_DAY } from './axis.js';
import { type Bar, Bars } from './bars.js';
import { Chart, type Line } from './chart.js';
import { element } from './dom.js';
import { together } from './histogram.js';
import type { History } from './history.js';
import { count, milliseconds, percent } from './numbers.js';
import type { Reading, RunnerReading } from './reading.js';
import { Tiles } from './tiles.js';

/** What the bars are of. */
const LATELY_MS = 30_000;

export class RunnerPanel {
  readonly element: HTMLElement;
  readonly #name: string;
  readonly #tiles = new Tiles([
    { label: 'rows/s', title: 'Rows in completed batches.' },
    { label: 'batches/s' },
    { label: 'mean batch', title: 'Mean number of rows in a batch.' },
    { label: 'queued', title: 'Items in the queue.' },
    { label: 'oldest', title: 'Queue wait of the oldest item.' },
    { label: 'running', title: 'Batches in flight.' },
    { label: 'rejected/s', title: 'Items rejected by admission control or the policy.' },
  ]);
  readonly #charts: readonly Chart<Reading>[];
  readonly #sizes = new Bars('Batch sizes, last 30 s', 'No batch has completed.');
  readonly #reasons = new Bars('Dispatch reasons, last 30 s', 'No batch was dispatched.');
  readonly #curve = new Bars('Service time by batch size (learned)', 'No batch sizes learned yet.');

  constructor(name: string) {
    this.#name = name;
    this.#charts = [
      new Chart({
        title: 'Rows per second',
        axis: TIME_OF_DAY,
        lines: [this.#line('rows', 'blue', ({ rowsPerSecond }) => rowsPerSecond)],
        text: count,
      }),
      new Chart({
        title: 'Queued items, rows in a batch',
        axis: TIME_OF_DAY,
        lines: [
          this.#line('queued', 'orange', ({ queued }) => queued),
          this.#line('mean batch', 'blue', ({ meanBatch }) => meanBatch),
        ],
        text: count,
      }),
      new Chart({
        title: 'Queue wait and service time',
        axis: TIME_OF_DAY,
        lines: [
          this.#line('wait p50', 'yellow', ({ waits }) => waits.p50Ms),
          this.#line('wait p99', 'orange', ({ waits }) => waits.p99Ms),
          this.#line('service p50', 'blue', ({ runs }) => runs.p50Ms),
          this.#line('service p99', 'violet', ({ runs }) => runs.p99Ms),
        ],
        text: milliseconds,
      }),
    ];
    const cards = [...this.#charts, this.#sizes, this.#reasons, this.#curve].map((card) => card.element);
    this.element = element(
      'section',
      {},
      element('h2', {}, name),
      this.#tiles.element,
      element('div', { className: 'cards' }, ...cards),
    );
  }

  show(history: History): void {
    const reading = this.#of(history.latest);
    if (reading === undefined) return;
    this.#tiles.show([
      count(reading.rowsPerSecond),
      count(reading.batchesPerSecond),
      count(reading.meanBatch),
      count(reading.queued),
      milliseconds(reading.oldestMs),
      count(reading.running),
      count(reading.refusedPerSecond),
    ]);
    for (const chart of this.#charts) chart.show(history.readings);
    const lately = history.within(LATELY_MS).flatMap((past) => this.#of(past) ?? []);
    this.#sizes.show(sizeBars(lately));
    this.#reasons.show(reasonBars(lately));
    this.#curve.show(curveBars(reading));
  }

  #of(reading: Reading | undefined): RunnerReading | undefined {
    return reading?.runners.get(this.#name);
  }

  #line(label: string, color: string, value: (reading: RunnerReading) => number | undefined): Line<Reading> {
    return {
      label,
      color,
      of: (reading) => {
        const ofThis = this.#of(reading);
        return ofThis && value(ofThis);
      },
    };
  }
}

function sizeBars(readings: readonly RunnerReading[]): Bar[] {
  const { bounds, counts, count: total } = together(readings.map(({ sizes }) => sizes));
  if (total === 0) return [];
  const last = counts.findLastIndex((batches) => batches > 0);
  return bounds.slice(0, last + 1).map((bound, i) => {
    const value = counts[i] as number;
    return { name: sizeName(bounds[i - 1] ?? 0, bound), value, text: percent(value / total) };
  });
}

/** The sizes of a bucket: above one bound, up to the next. */
function sizeName(above: number, bound: number): string {
  if (!Number.isFinite(bound)) return `> ${above}`;
  return bound - above <= 1 ? String(bound) : `${above + 1}–${bound}`;
}

function reasonBars(readings: readonly RunnerReading[]): Bar[] {
  const batches = new Map<string, number>();
  for (const { reasons } of readings) {
    for (const [reason, started] of reasons) batches.set(reason, (batches.get(reason) ?? 0) + started);
  }
  const total = [...batches.values()].reduce((sum, started) => sum + started, 0);
  return [...batches]
    .filter(([, started]) => started > 0)
    .map(([name, value]) => ({ name, value, text: percent(value / total) }));
}

function curveBars({ curve }: RunnerReading): Bar[] {
  return [...curve].map(([size, ms]) => ({
    name: String(size),
    value: ms,
    text: `${milliseconds(ms)}, ${count((1000 * size) / ms)} rows/s`,
  }));
}
