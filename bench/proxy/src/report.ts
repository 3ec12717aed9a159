/** The results as tables for people, or as JSON for programs. */
import type { Figure, FigureResult, Table, Verdict } from './figure.js';
import { medianText, spreadText } from './notation.js';
import { medianOf, summaryOf } from './statistics.js';

export interface Measured {
  readonly figure: Figure;
  readonly result: FigureResult;
}

export function textOf(measured: readonly Measured[]): string {
  return measured
    .map(({ figure, result }) =>
      [
        `${figure.name}: ${figure.title}`,
        ...result.tables.flatMap(linesOf),
        ...(result.verdicts.length > 0 ? linesOf(verdictTable(result.verdicts)) : []),
        ...result.notes.map((note) => `  · ${note}`),
      ].join('\n'),
    )
    .join('\n\n');
}

export function jsonOf(measured: readonly Measured[], about: Readonly<Record<string, unknown>>): string {
  const figures = measured.map(({ figure, result }) => ({
    name: figure.name,
    title: figure.title,
    verdicts: result.verdicts.map(({ goal, digits: _, ...verdict }) => {
      const summary = summaryOf(verdict.samples);
      return { ...verdict, ...summary, goal: goal?.text, isMet: goal?.isMet(summary.median) };
    }),
    notes: result.notes,
    raw: result.raw,
  }));
  return JSON.stringify(snakeCased({ ...about, figures }), null, 2);
}

function verdictTable(verdicts: readonly Verdict[]): Table {
  return {
    head: ['', 'median', 'min–max', 'goal', ''],
    rows: verdicts.map(({ label, samples, digits, goal }) => [
      label,
      medianText(samples, digits),
      spreadText(samples, digits),
      goal?.text ?? '',
      goal === undefined ? '' : goal.isMet(medianOf(samples)) ? '✓' : '✗',
    ]),
  };
}

function linesOf({ head, rows }: Table): string[] {
  const lines = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...lines.map((cells) => cells[column]?.length ?? 0)));
  return lines.map((cells) => {
    const padded = widths.map((width, column) => {
      const cell = cells[column] ?? '';
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return `  ${padded.join('  ').trimEnd()}`;
  });
}

/** All keys as JSON has them in this project: `per_second`, not `perSecond`. */
function snakeCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(snakeCased);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key.replace(/[A-Z]/g, (letter, at) => (at === 0 ? letter : `_${letter.toLowerCase()}`)),
      snakeCased(inner),
    ]),
  );
}
