/** The SVG document, heading and axes of every chart. */
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
  /** Text alternative for screen readers. */
  readonly description: string;
  readonly width: number;
  readonly height: number;
  /** Prefix of ids. @default a hash of the content */
  readonly id?: string | undefined;
  /** Whether the style is included. A page with several charts may include `PLOT_STYLE` once instead. */
  readonly styled: boolean;
  /** Further attributes of the root element. */
  readonly attributes?: Readonly<Record<string, string>>;
}

/** The SVG document. `content` gets the prefix of ids, which is unique in a page. */
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
  /** The y coordinate below the block. */
  readonly bottom: number;
}

/** The title, with the label of the y axis below it instead of rotated text. */
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

/** Text in the colour of the surrounding group. */
export function text(
  content: string,
  x: number,
  y: number,
  attributes: Readonly<Record<string, string | number>> = {},
): string {
  return element('text', { x, y, fill: 'currentColor', ...attributes }, escaped(content));
}

/** Text with an outline in the background colour, for text over lines. */
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

/** Path data of a polyline. */
export function path(points: readonly (readonly [number, number])[]): string {
  return points.map(([x, y], i) => `${i === 0 ? 'M' : 'L'}${coordinate(x)} ${coordinate(y)}`).join('');
}

/** Horizontal grid lines, with tick labels at the left. */
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

/** The x axis with ticks, tick labels and title. */
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
    // A label that would overlap the one before is omitted.
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

/** The height of `xAxis` below the box. */
export const X_AXIS_HEIGHT = 48;
