/** The results as tables for people, or as JSON for programs. */
import type { FigureResult, Measured, Verdict } from './figure.js';
import { type Goal, markOf } from './goal.js';
import { medianText, spreadText } from './notation.js';
import { snakeCased } from './snake-cased.js';
import { medianOf, type Summary, summaryOf } from './statistics.js';
import { linesOf, type Table } from './table.js';

export function textOf(measured: readonly Measured[]): string {
  return measured
    .map(({ figure, result }) =>
      [
        `${figure.name}: ${figure.title}`,
        ...result.tables.flatMap(linesOf),
        ...(result.verdicts.length > 0 ? linesOf(verdictTable(result.verdicts)) : []),
        ...result.notes.map(noteLine),
      ].join('\n'),
    )
    .join('\n\n');
}

export function noteLine(note: string): string {
  return `  · ${note}`;
}

export function jsonOf(measured: readonly Measured[], about: Readonly<Record<string, unknown>>): string {
  return figuresJson(measured, about, ({ verdicts, notes, raw }: FigureResult) => ({
    verdicts: verdicts.map(({ digits: _, ...verdict }) => judged(verdict)),
    notes,
    raw,
  }));
}

/** The frame of every report in JSON: what it is about, and the figures with what `partsOf` takes of each result. */
export function figuresJson<Result>(
  measured: readonly Measured<Result>[],
  about: Readonly<Record<string, unknown>>,
  partsOf: (result: Result) => object,
): string {
  const figures = measured.map(({ figure: { name, title }, result }) => ({
    name,
    title,
    ...partsOf(result),
  }));
  return JSON.stringify(snakeCased({ ...about, figures }), null, 2);
}

/** What was measured together with what is said of it: the summary, the goal in words, and whether it is met. */
export function judged<Row extends { readonly samples: readonly number[]; readonly goal?: Goal }>({
  goal,
  ...row
}: Row): Omit<Row, 'goal'> & Summary & { goal: string | undefined; isMet: boolean | undefined } {
  const summary = summaryOf(row.samples);
  return { ...row, ...summary, goal: goal?.text, isMet: goal?.isMet(summary.median) };
}

function verdictTable(verdicts: readonly Verdict[]): Table {
  return {
    head: ['', 'median', 'min–max', 'goal', ''],
    rows: verdicts.map(({ label, samples, digits, goal }) => [
      label,
      medianText(samples, digits),
      spreadText(samples, digits),
      goal?.text ?? '',
      markOf(goal, medianOf(samples)),
    ]),
  };
}
