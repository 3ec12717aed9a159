/** The results as a text table and as JSON. */
import {
  figuresJson,
  judged,
  linesOf,
  type Measured,
  markOf,
  noteLine,
  summaryOf,
} from '@batchwise/bench-harness';
import type { FigureResult, Row, Unit } from './figure.js';

const HEAD = ['', 'median', 'min–max', 'goal', '', ''];
const WORDS = [0, 5];

/** All figures in columns of the same width. */
export function tableOf(measured: readonly Measured<FigureResult>[]): string {
  const rows = measured.flatMap(({ result }) => result.rows.map(cellsOf));
  const [head = '', ...lines] = linesOf({ head: HEAD, rows, words: WORDS });
  return measured
    .map(({ figure, result }) =>
      [
        figure.title,
        head,
        ...lines.splice(0, result.rows.length),
        ...(result.notes ?? []).map(noteLine),
      ].join('\n'),
    )
    .join('\n\n');
}

export function jsonOf(measured: readonly Measured<FigureResult>[], rounds: number): string {
  return figuresJson(measured, { node: process.version, rounds }, ({ rows, notes, raw }) => ({
    rows: rows.map(judged),
    notes,
    raw,
  }));
}

function cellsOf({ label, unit, samples, goal, detail = '' }: Row): string[] {
  const { median, min, max } = summaryOf(samples);
  const range = samples.length > 1 ? `${written(min, unit)}–${written(max, unit)}` : '';
  return [label, written(median, unit), range, goal?.text ?? '', markOf(goal, median), detail];
}

function written(value: number, unit: Unit): string {
  switch (unit) {
    case 'ratio':
      return value.toFixed(2);
    case 'count':
    case 'bytes':
      return value.toFixed(0);
    case 'us':
      return `${value.toFixed(2)} µs`;
    case 'ms':
      return value.toFixed(1);
  }
}
