/**
 * Line charts as SVG, for a file or inside a page. A pure function of the specification: the same specification gives
 * the same bytes.
 */
import { type Box, clippedLine, isInside, isPixel, type Pixel } from './clipped-line.js';
import { spreadLabels } from './end-labels.js';
import {
  heading,
  PADDING,
  path,
  plotDocument,
  SMALL,
  text,
  widestLabel,
  X_AXIS_HEIGHT,
  xAxis,
  yAxis,
} from './frame.js';
import { legend } from './legend.js';
import { describeLines, readoutOf } from './line-values.js';
import { type Look, markerPath, seriesColour, seriesDash, tone } from './look.js';
import { type Mark, xMarks, yMarks } from './marks.js';
import { element, escaped } from './markup.js';
import { type Axis, type Scale, scaleFor } from './scale.js';
import { shortened, textWidth } from './text-width.js';

export interface Series {
  readonly name: string;
  /** In drawing order. A value that is not finite is a gap. */
  readonly points: readonly (readonly [x: number, y: number])[];
  /** For computed values, such as a bound; drawn without markers. */
  readonly dashed?: boolean;
  /** Colour and marker, so that a series looks the same in several charts. @default its position */
  readonly look?: Look;
  /** Drawn with a thicker line and on top. */
  readonly emphasized?: boolean;
}

export interface LineChartSpec {
  readonly title: string;
  /** Text alternative for screen readers. @default generated from the series */
  readonly description?: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Horizontal lines, such as a target. */
  readonly yMarks?: readonly Mark[];
  /** Vertical lines, such as a knee. */
  readonly xMarks?: readonly Mark[];
  /** Names at the ends of the lines, in a legend above, or none. @default at the ends if there is room */
  readonly names?: Names;
  /** @default 720 */
  readonly width?: number;
  /** @default 420 */
  readonly height?: number;
  /** Prefix of ids. @default a hash of the content */
  readonly id?: string;
  /** Whether the style is included. @default true */
  readonly styled?: boolean;
  /** Whether values are included for a script, in the attribute `data-readout`. @default false */
  readonly readout?: boolean;
}

type Names = 'ends' | 'legend' | 'none';

const END_LABEL_GAP = 15;
const LONGEST_NAME_SHARE = 0.28;

export function lineChart(spec: LineChartSpec): string {
  const { title, width = 720, height = 420, styled = true } = spec;
  const { layout, lines } = arranged(spec, width, height);
  const { box, x, y } = layout;
  const across = yMarks(spec.yMarks ?? [], y, box);
  const upwards = xMarks(spec.xMarks ?? [], x, box);
  // Emphasized lines last, so that they are on top.
  const drawn = [...lines].sort((a, b) => Number(a.emphasized) - Number(b.emphasized));
  return plotDocument(
    {
      title,
      description: spec.description ?? describeLines(spec),
      width,
      height,
      id: spec.id,
      styled,
      ...(spec.readout ? { attributes: { 'data-readout': readoutOf(spec, layout) } } : {}),
    },
    () => [
      layout.head,
      yAxis(y, box),
      xAxis(x, box, spec.x.label, width),
      across.lines,
      upwards.lines,
      ...drawn.map(({ markup }) => markup),
      across.labels,
      upwards.labels,
      layout.namesAtEnds ? endLabels(lines, box, width) : '',
      lines.every(({ pieces }) => pieces.length === 0) ? emptyNote(box) : '',
    ],
  );
}

/** Names at the ends if there is room and most lines end near the right edge, otherwise in a legend. */
function arranged(spec: LineChartSpec, width: number, height: number): { layout: Layout; lines: Line[] } {
  const arrange = (names: Names) => {
    const layout = layoutOf(spec, names, width, height);
    return { layout, lines: spec.series.map((one, i) => lineOf(one, one.look ?? i, layout)) };
  };
  if (spec.names !== undefined) return arrange(spec.names);
  const withEnds = arrange('ends');
  const { box } = withEnds.layout;
  const widest = Math.max(0, ...spec.series.map(({ name }) => textWidth(name, SMALL)));
  const edge = box.right - 0.12 * (box.right - box.left);
  const early = withEnds.lines.filter(({ pieces }) => (pieces.at(-1)?.at(-1)?.[0] ?? edge) < edge).length;
  const fits =
    width >= 480 &&
    widest <= LONGEST_NAME_SHARE * width &&
    spec.series.length * END_LABEL_GAP <= box.bottom - box.top &&
    early <= 1;
  return fits ? withEnds : arrange('legend');
}

function emptyNote(box: Box): string {
  const note = text('No values', (box.left + box.right) / 2, (box.top + box.bottom) / 2, {
    'text-anchor': 'middle',
  });
  return element('g', tone('soft'), note);
}

interface Layout {
  readonly box: Box;
  readonly x: Scale;
  readonly y: Scale;
  readonly namesAtEnds: boolean;
  readonly head: string;
}

function layoutOf(spec: LineChartSpec, wanted: Names, width: number, height: number): Layout {
  const { series } = spec;
  const title = heading(spec.title, spec.y.label, width);
  const bottom = Math.max(height - X_AXIS_HEIGHT, title.bottom + 20);
  const widest = Math.max(0, ...series.map(({ name }) => textWidth(name, SMALL)));
  const namesAtEnds = series.length > 0 && wanted === 'ends';
  const names = wanted === 'legend' ? legend(series, title.bottom, width) : undefined;
  const top = Math.min((names ?? title).bottom + 8, bottom - 20);
  const ys = series.flatMap(({ points }) => points.map((point) => point[1]));
  const y = scaleFor(spec.y, [...ys, ...(spec.yMarks ?? []).map(({ at }) => at)], bottom, top, {
    rounded: true,
    pixelsPerTick: 36,
  });
  const left = PADDING + Math.max(18, widestLabel(y)) + 8;
  const nameRoom = Math.min(widest, LONGEST_NAME_SHARE * width) + 30;
  const right = Math.max(width - PADDING - (namesAtEnds ? nameRoom : 6), left + 20);
  const xs = series.flatMap(({ points }) => points.map((point) => point[0]));
  const x = scaleFor(spec.x, [...xs, ...(spec.xMarks ?? []).map(({ at }) => at)], left, right, {
    rounded: false,
    pixelsPerTick: 52,
  });
  return { box: { left, right, top, bottom }, x, y, namesAtEnds, head: title.markup + (names?.markup ?? '') };
}

interface Line {
  readonly name: string;
  readonly look: Look;
  readonly dashed: boolean;
  readonly emphasized: boolean;
  readonly pieces: readonly (readonly Pixel[])[];
  readonly markup: string;
}

function lineOf(series: Series, look: Look, { x, y, box }: Layout): Line {
  const { name, points, dashed = false, emphasized = false } = series;
  const pixels = points.map(([atX, atY]): Pixel => [x.toPixel(atX), y.toPixel(atY)]);
  const pieces = clippedLine(pixels, box);
  const d = pieces.map((piece) => (piece.length === 1 ? dot(piece[0] as Pixel) : path(piece))).join('');
  const content = [element('title', {}, escaped(name))];
  if (d !== '') {
    const width = emphasized ? 2.6 : 1.6;
    content.push(
      element('path', {
        d,
        fill: 'none',
        stroke: 'currentColor',
        'stroke-width': width,
        'stroke-linejoin': 'round',
        'stroke-linecap': dashed ? 'butt' : 'round',
        'stroke-dasharray': seriesDash(look, dashed),
      }),
    );
  }
  if (!dashed && look !== 'reference') content.push(...markers(pixels, look, box));
  const markup = element('g', seriesColour(look), content);
  return { name, look, dashed, emphasized, pieces, markup };
}

/** A very short line, which is drawn as a dot because of its round ends. */
function dot([x, y]: Pixel): string {
  return path([
    [x, y],
    [x + 0.1, y],
  ]);
}

/** On every value, or on every nth value where they would overlap. */
function markers(pixels: readonly Pixel[], look: number, box: Box): string[] {
  const visible = pixels.filter((pixel) => isPixel(pixel) && isInside(pixel, box));
  const everyNth = Math.ceil((14 * visible.length) / (box.right - box.left + 1));
  const d = visible
    .filter((_, i) => everyNth <= 1 || (i + look) % everyNth === 0)
    .map(([x, y]) => markerPath(look, x, y))
    .join('');
  return d === '' ? [] : [element('path', { d, fill: 'currentColor' })];
}

function endLabels(lines: readonly Line[], box: Box, width: number): string {
  const ended = lines.flatMap((line) => {
    const end = line.pieces.at(-1)?.at(-1);
    return end === undefined ? [] : [{ line, end }];
  });
  const places = spreadLabels(
    ended.map(({ end }) => end[1]),
    END_LABEL_GAP,
    box.top,
    box.bottom,
  );
  const labels = ended.map(({ line, end }, i) => {
    const y = places[i] as number;
    const from = box.right + 8;
    const leader = path([
      [end[0] + 5, end[1]],
      [from, y],
      [from + 4, y],
    ]);
    return element('g', seriesColour(line.look), [
      element('path', {
        d: leader,
        fill: 'none',
        stroke: 'currentColor',
        'stroke-width': 0.8,
        opacity: '0.6',
      }),
      text(shortened(line.name, width - PADDING - from - 7, SMALL), from + 7, y + 4, {
        'font-weight': line.emphasized ? 700 : 500,
      }),
    ]);
  });
  return labels.join('');
}
