/** Lines over the last minutes. */
import { element } from './dom.js';
import type { Reading } from './reading.js';
import uPlot from './uplot.js';

export interface Line {
  readonly label: string;
  /** The name of a colour in the style sheet. */
  readonly color: string;
  of(reading: Reading): number | undefined;
}

const HEIGHT = 160;
/** Of a time of day below a chart, with some air beside it. */
const TIME_WIDTH = 72;
/** Of a page that was just opened, more room than lines would be seen. */
const LEAST_MS = 60_000;
/** What lies under the pointer is shown in all charts at once. */
const CURSOR = uPlot.sync('dashboard');

export class Chart {
  readonly element: HTMLElement;
  readonly #lines: readonly Line[];
  readonly #plot: uPlot;

  constructor(title: string, lines: readonly Line[], text: (value: number | undefined) => string) {
    this.#lines = lines;
    const place = element('div', { className: 'plot' });
    this.element = element('section', { className: 'card' }, element('h3', {}, title), place);
    const shown = (_: uPlot, value: number | null) => text(value ?? undefined);
    this.#plot = new uPlot(
      {
        width: 300,
        height: HEIGHT,
        cursor: { sync: { key: CURSOR.key }, drag: { x: false, y: false } },
        scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [
          {
            ...axis(),
            size: 28,
            space: TIME_WIDTH,
            values: (_, ticks) => ticks.map((tick) => clockText(tick)),
          },
          { ...axis(), size: 64, values: (_, ticks) => ticks.map((tick) => text(tick)) },
        ],
        series: [
          { value: (_, seconds) => (seconds === null ? '' : clockText(seconds)) },
          ...lines.map(({ label, color }) => ({
            label,
            stroke: () => colorOf(color),
            width: 1.5,
            points: { show: false },
            value: shown,
          })),
        ],
      },
      [[], ...lines.map(() => [])],
      place,
    );
    new ResizeObserver(() => {
      if (place.clientWidth > 0) this.#plot.setSize({ width: place.clientWidth, height: HEIGHT });
    }).observe(place);
  }

  show(readings: readonly Reading[]): void {
    const to = readings.at(-1)?.at ?? 0;
    const from = Math.min(readings[0]?.at ?? 0, to - LEAST_MS);
    const times = readings.map(({ at }) => wallSeconds(at));
    const columns = this.#lines.map((line) => readings.map((reading) => line.of(reading) ?? null));
    const plot = this.#plot;
    plot.batch(() => {
      plot.setData([times, ...columns], false);
      plot.setScale('x', { min: wallSeconds(from), max: wallSeconds(to) });
    });
    // Where nobody points at anything, the legend tells how it is now.
    if (typeof plot.cursor.idx !== 'number') plot.setLegend({ idx: times.length - 1 });
  }
}

/** The page's own clock does not jump; what is shown is the time of day. */
function wallSeconds(pageMs: number): number {
  return (performance.timeOrigin + pageMs) / 1000;
}

/** 14:03:59 */
function clockText(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

function axis(): uPlot.Axis {
  return {
    stroke: () => colorOf('muted'),
    grid: { stroke: () => colorOf('line'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
}

function colorOf(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
