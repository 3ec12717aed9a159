/** The table in words: a heading, and a row for each way of calling the model. */
import type { BatchSizes } from './batch-sizes.js';
import type { Meter } from './meter.js';

const BARS = '▁▂▃▄▅▆▇█';
const NAME_WIDTH = 10;
/** Narrow enough, bars included, for a terminal of 80 columns. */
const CELL_WIDTHS = [12, 8, 7, 7, 7, 12];
const TITLES = ['requests/s', 'p50 ms', 'p90 ms', 'p99 ms', 'max ms', 'mean batch'];

export function headingOf({ limits }: BatchSizes): string {
  const sizes = limits.map((limit) => `${limit}`.padStart(barWidth(limit)));
  return ' '.repeat(NAME_WIDTH) + cellsOf(TITLES) + sizes.join('');
}

export function rowOf(name: string, meter: Meter, now: number): string {
  if (now < meter.startsAt) return `${name.padEnd(NAME_WIDTH)}  warming up …`;
  const { latency, batchSizes } = meter;
  const cells = cellsOf([
    ifKnown(meter.requestsPerSecond(now), (rate) => Math.round(rate).toLocaleString('en')),
    inMs(latency.percentileMs(50)),
    inMs(latency.percentileMs(90)),
    inMs(latency.percentileMs(99)),
    inMs(latency.maxMs),
    ifKnown(batchSizes.mean, (mean) => mean.toFixed(1)),
  ]);
  return name.padEnd(NAME_WIDTH) + cells + barsOf(batchSizes);
}

export function inMs(ms: number): string {
  return ifKnown(ms, () => ms.toFixed(ms < 10 ? 2 : 1));
}

/** One bar for each range of sizes, as high as its share of the batches. */
function barsOf({ limits, counts }: BatchSizes): string {
  const most = Math.max(...counts);
  const bars = limits.map((limit, bin) => {
    const count = counts[bin] ?? 0;
    const bar = count === 0 ? '·' : BARS.charAt(Math.ceil((count / most) * BARS.length) - 1);
    return bar.padStart(barWidth(limit));
  });
  return bars.join('');
}

function cellsOf(texts: readonly string[]): string {
  return texts.map((text, column) => text.padStart(CELL_WIDTHS[column] ?? 0)).join('');
}

function barWidth(limit: number): number {
  return limit === 1 ? 4 : `${limit}`.length + 1;
}

function ifKnown(value: number, text: (value: number) => string): string {
  return Number.isNaN(value) ? '–' : text(value);
}
