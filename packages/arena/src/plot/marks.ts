/** Labelled lines across a chart: a target, a knee, full load. */
import type { Box } from './clipped-line.js';
import { line, rimmedText, SMALL } from './frame.js';
import { tone } from './look.js';
import { element } from './markup.js';
import type { Scale } from './scale.js';
import { shortened, textWidth } from './text-width.js';

export interface Mark {
  readonly at: number;
  readonly label?: string;
}

const ROW_HEIGHT = 15;
const DOTTED = { 'stroke-dasharray': '2 3' };

/** Lines are drawn below the data, labels above it. */
interface DrawnMarks {
  readonly lines: string;
  readonly labels: string;
}

export function yMarks(marks: readonly Mark[], scale: Scale, box: Box): DrawnMarks {
  const shown = placed(marks, scale, box.top, box.bottom);
  return drawn(
    shown.map(({ pixel }) => line(box.left, pixel, box.right, pixel, DOTTED)),
    shown.map(({ pixel, label }) => {
      // Above its line, unless there is no room.
      const y = pixel - SMALL - 4 < box.top ? pixel + SMALL + 2 : pixel - 5;
      return rimmedText(shortened(label, box.right - box.left - 12, SMALL), box.left + 6, y);
    }),
  );
}

/** Labels beside their lines, at the top; a label that would overlap another one is a row lower. */
export function xMarks(marks: readonly Mark[], scale: Scale, box: Box): DrawnMarks {
  const shown = placed(marks, scale, box.left, box.right);
  const rowEnds: number[] = [];
  return drawn(
    shown.map(({ pixel }) => line(pixel, box.top, pixel, box.bottom, DOTTED)),
    shown.map(({ pixel, label }) => {
      const name = shortened(label, (box.right - box.left) * 0.6, SMALL);
      const width = textWidth(name, SMALL) + 6;
      const before = pixel + width > box.right;
      const from = before ? pixel - width : pixel;
      let row = rowEnds.findIndex((end) => end <= from);
      if (row === -1) row = rowEnds.length;
      rowEnds[row] = from + width + 4;
      const y = box.top + SMALL + row * ROW_HEIGHT;
      return rimmedText(name, pixel + (before ? -5 : 5), y, { 'text-anchor': before ? 'end' : 'start' });
    }),
  );
}

function drawn(lines: readonly string[], labels: readonly string[]): DrawnMarks {
  if (lines.length === 0) return { lines: '', labels: '' };
  return { lines: element('g', tone('ink'), lines), labels: element('g', tone('ink'), labels) };
}

function placed(
  marks: readonly Mark[],
  scale: Scale,
  low: number,
  high: number,
): { readonly pixel: number; readonly label: string }[] {
  return marks
    .map(({ at, label = '' }) => ({ pixel: scale.toPixel(at), label }))
    .filter(({ pixel }) => pixel >= low - 0.01 && pixel <= high + 0.01)
    .sort((a, b) => a.pixel - b.pixel);
}
