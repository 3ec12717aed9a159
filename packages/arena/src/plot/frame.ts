/** What surrounds every plot: the document, its heading and its axes. */
import type { Box } from './clipped-line.js';
import { PLOT_STYLE, tone } from './look.js';
import { contentId, coordinate, element, escaped } from './markup.js';
import type { Scale } from './scale.js';
import { shortened, textWidth, wrapped } from './text-width.js';

export const PADDING = 14;
export const SMALL = 12;
const TITLE_SIZE = 15;

interface DocumentSpec {
  readonly title: string;
  /** What it shows, for those who do not see it. */
  readonly description: string;
  readonly width: number;
  readonly height: number;
  /** The prefix of ids; made from the content when not given. */
  readonly id?: string | undefined;
  /** Whether the rules of style are part of it. A page that holds several may hold `PLOT_STYLE` once instead. */
  readonly styled: boolean;
  /** Further attributes of the root. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The whole file. `content` is told the prefix that keeps its ids apart from those of other plots in a page. */
export function plotDocument(spec: DocumentSpec, content: (id: string) => readonly string[]): string {
  const { title, description, width, height, styled } = spec;
  const id = spec.id ?? contentId([title, description, width, height, ...content('')].join('\n'));
  return element(
    'svg',
    {
      xmlns: 'http://www.w3.org/2000/svg',
      class: 'plot',
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: 'img',
      'aria-labelledby': `${id}-title ${id}-desc`,
      'font-family': 'sans-serif',
      'font-size': SMALL,
      ...spec.attributes,
    },
    [
      element('title', { id: `${id}-title` }, escaped(title)),
      element('desc', { id: `${id}-desc` }, escaped(description)),
      styled ? element('style', {}, PLOT_STYLE) : '',
      element('g', tone('paper'), element('rect', { width, height, fill: 'currentColor' })),
      ...content(id),
    ],
  );
}

export interface Block {
  readonly markup: string;
  /** Where the next thing may begin. */
  readonly bottom: number;
}

/** The title, and under it what is drawn upwards: easier to read than text that stands on its head. */
export function heading(title: string, subtitle: string, width: number): Block {
  const room = width - 2 * PADDING;
  let y = PADDING - 3;
  const lines = wrapped(title, room, TITLE_SIZE * 1.06, 2).map((line) => {
    y += TITLE_SIZE + 3;
    return text(line, PADDING, y, { 'font-size': TITLE_SIZE, 'font-weight': 600 });
  });
  const markup = [element('g', tone('ink'), lines)];
  if (subtitle !== '') {
    y += SMALL + 6;
    markup.push(element('g', tone('soft'), text(shortened(subtitle, room, SMALL), PADDING, y)));
  }
  return { markup: markup.join(''), bottom: y + 8 };
}

/** Painted in the colour of the group around it. */
export function text(
  content: string,
  x: number,
  y: number,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  return element('text', { x, y, fill: 'currentColor', ...attributes }, escaped(content));
}

/** Text over lines: with a rim in the colour of the paper. */
export function rimmedText(
  content: string,
  x: number,
  y: number,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  if (content === '') return '';
  const rim = { fill: 'none', stroke: 'currentColor', 'stroke-width': 4, 'stroke-linejoin': 'round' };
  return (
    element(
      'g',
      { ...tone('paper'), 'aria-hidden': 'true' },
      text(content, x, y, { ...attributes, ...rim }),
    ) + text(content, x, y, attributes)
  );
}

export function line(
  x1: number,
  y1: number,
  x2: number,
  y2: number,
  extra: Record<string, string> = {},
): string {
  return element('path', {
    d: path([
      [x1, y1],
      [x2, y2],
    ]),
    stroke: 'currentColor',
    fill: 'none',
    ...extra,
  });
}

/** Through these points, as the data of a path. */
export function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${coordinate(x)} ${coordinate(y)}`).join('');
}

/** Grid lines and the labels of ticks, left of the box. */
export function yAxis(scale: Scale, box: Box): string {
  const grid: string[] = [];
  const labels: string[] = [];
  for (const { at, label } of scale.ticks) {
    const y = scale.toPixel(at);
    grid.push(
      path([
        [box.left, y],
        [box.right, y],
      ]),
    );
    labels.push(text(label, box.left - 8, y + 4));
  }
  return (
    element('g', tone('grid'), element('path', { d: grid.join(''), stroke: 'currentColor', fill: 'none' })) +
    element('g', { ...tone('soft'), 'text-anchor': 'end' }, labels)
  );
}

export function widestLabel({ ticks }: Scale): number {
  return Math.max(0, ...ticks.map(({ label }) => textWidth(label, SMALL)));
}

/** The line at the foot of the box, its ticks and their labels, and the name of the axis. */
export function xAxis(scale: Scale, box: Box, label: string, width: number): string {
  const marks = [
    path([
      [box.left, box.bottom],
      [box.right, box.bottom],
    ]),
  ];
  const labels: string[] = [];
  let taken = Number.NEGATIVE_INFINITY;
  for (const tick of scale.ticks) {
    const x = scale.toPixel(tick.at);
    marks.push(
      path([
        [x, box.bottom],
        [x, box.bottom + 4],
      ]),
    );
    const half = textWidth(tick.label, SMALL) / 2;
    // A label may be wider than the space between ticks when the numbers are long.
    if (x - half < taken) continue;
    taken = x + half + 6;
    labels.push(text(tick.label, Math.min(x, width - half - 2), box.bottom + 18));
  }
  const middle = (box.left + box.right) / 2;
  labels.push(text(shortened(label, width - 2 * PADDING, SMALL), middle, box.bottom + 37));
  return element('g', { ...tone('soft'), 'text-anchor': 'middle' }, [
    element('path', { d: marks.join(''), stroke: 'currentColor', fill: 'none' }),
    ...labels,
  ]);
}

/** What `xAxis` needs below the box. */
export const X_AXIS_HEIGHT = 48;
