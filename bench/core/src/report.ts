/** The results as a table for people, or as JSON for programs. */
import type { Figure, FigureResult, Row, Unit } from './figure.js';
import { summaryOf } from './statistics.js';

export interface Measured {
  readonly figure: Figure;
  readonly result: FigureResult;
}

const HEAD = ['', 'median', 'min–max', 'goal', '', ''];

export function tableOf(measured: readonly Measured[]): string {
  const bodies = measured.map(({ result }) => result.rows.map(cellsOf));
  const widths = HEAD.map((_, column) =>
    Math.max(...[HEAD, ...bodies.flat()].map((cells) => cells[column]?.length ?? 0)),
  );
  return measured
    .map(({ figure, result }, index) =>
      [
        figure.title,
        ...[HEAD, ...(bodies[index] ?? [])].map((cells) => line(cells, widths)),
        ...(result.notes ?? []).map((note) => `  · ${note}`),
      ].join('\n'),
    )
    .join('\n\n');
}

export function jsonOf(measured: readonly Measured[], rounds: number): string {
  const report = {
    node: process.version,
    rounds,
    figures: measured.map(({ figure, result: { rows, notes, raw } }) => ({
      name: figure.name,
      title: figure.title,
      rows: rows.map(({ goal, ...row }) => {
        const summary = summaryOf(row.samples);
        return { ...row, ...summary, goal: goal?.text, isMet: goal?.isMet(summary.median) };
      }),
      notes,
      raw,
    })),
  };
  return JSON.stringify(snakeCased(report), null, 2);
}

/** All keys as JSON has them in this project: `per_second`, not `perSecond`. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      snakeCased(inner),
    ]),
  );
}

function cellsOf({ label, unit, samples, goal, detail = '' }: Row): string[] {
  const { median, min, max } = summaryOf(samples);
  const spread = samples.length > 1 ? `${written(min, unit)}–${written(max, unit)}` : '';
  return [
    label,
    written(median, unit),
    spread,
    goal?.text ?? '',
    goal ? mark(goal.isMet(median)) : '',
    detail,
  ];
}

function line(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, column) => {
    const width = widths[column] ?? 0;
    return column === 0 || column > 3 ? cell.padEnd(width) : cell.padStart(width);
  });
  return `  ${padded.join('  ').trimEnd()}`;
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

function mark(isMet: boolean): string {
  return isMet ? '✓' : '✗';
}
