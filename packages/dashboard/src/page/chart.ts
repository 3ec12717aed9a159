/** Lines over time, or over anything else that rises. */
import type { Axis } from './axis.js';
import { element } from './dom.js';
import uPlot from './uplot.js';

export interface Line<Point> {
  readonly label: string;
  /** The name of a colour in the style sheet. */
  readonly color: string;
  readonly isDashed?: boolean;
  /** Not in the legend as long as it has no value at all. */
  readonly isOptional?: boolean;
  of(point: Point): number | undefined;
}

export interface ChartOptions<Point> {
  readonly title: string;
  readonly axis: Axis<Point>;
  readonly lines: readonly Line<Point>[];
  /** How values are written. */
  text(value: number | undefined): string;
  /** A dot at each value. @default false */
  readonly hasDots?: boolean;
}

const HEIGHT = 160;
/** Of a time of day below a chart, with some air beside it. */
const TIME_WIDTH = 72;
const DASHES = [6, 4];

export class Chart<Point> {
  readonly element: HTMLElement;
  readonly #axis: Axis<Point>;
  readonly #lines: readonly Line<Point>[];
  readonly #plot: uPlot;

  constructor({ title, axis, lines, text, hasDots = false }: ChartOptions<Point>) {
    this.#axis = axis;
    this.#lines = lines;
    const place = element('div', { className: 'plot' });
    this.element = element('section', { className: 'card' }, element('h3', {}, title), place);
    const shown = (_: uPlot, value: number | null) => text(value ?? undefined);
    this.#plot = new uPlot(
      {
        width: 300,
        height: HEIGHT,
        cursor: { sync: { key: uPlot.sync(axis.key).key }, drag: { x: false, y: false } },
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
        axes: [
          {
            ...drawn(),
            size: 28,
            space: TIME_WIDTH,
            incrs: INCREMENTS,
            values: (_, ticks) => ticks.map((tick) => axis.text(tick)),
          },
          { ...drawn(), size: 64, values: (_, ticks) => ticks.map((tick) => text(tick)) },
        ],
        series: [
          { label: axis.label, value: (_, x) => (x === null ? '' : axis.text(x)) },
          ...lines.map(({ label, color, isDashed }) => ({
            label,
            stroke: () => colorOf(color),
            ...(isDashed && { dash: DASHES }),
            width: 1.5,
            points: { show: hasDots },
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

  /** Rising along the axis. */
  show(points: readonly Point[]): void {
    const xs = points.map((point) => this.#axis.of(point));
    const columns = this.#lines.map((line) => points.map((point) => line.of(point) ?? null));
    const [min, max] = this.#axis.range(xs[0] ?? 0, xs.at(-1) ?? 0);
    const plot = this.#plot;
    plot.batch(() => {
      plot.setData([xs, ...columns], false);
      plot.setScale('x', { min, max });
    });
    this.#hideEmpty(columns);
    // Where nobody points at anything, the legend tells how it is now.
    if (typeof plot.cursor.idx !== 'number') plot.setLegend({ idx: xs.length - 1 });
  }

  #hideEmpty(columns: readonly (readonly (number | null)[])[]): void {
    const rows = this.#plot.root.querySelectorAll<HTMLElement>('.u-legend .u-series');
    for (const [i, { isOptional = false }] of this.#lines.entries()) {
      // The first row is that of the axis.
      const row = rows[i + 1];
      if (isOptional && row !== undefined) row.hidden = columns[i]?.every((value) => value === null) ?? true;
    }
  }
}

/** Whole units, and along time whole minutes and hours. */
const INCREMENTS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
];

function drawn(): uPlot.Axis {
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
