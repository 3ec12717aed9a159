/** The table of other loads in the text of a plan, with a bar per load. */
import { alignedTable } from '../report/text-table.js';
import type { PlanInput } from './plan.js';
import { formatBatch, formatCount, formatMs, formatShare, formatTarget } from './plan-notation.js';
import type { Palette } from './plan-text.js';
import type { LoadResult } from './plan-trial.js';

/** Loads of the table, as shares of the largest rate; the requested rate is always shown. */
const ROWS = [0.02, 0.15, 0.3, 0.45, 0.6, 0.8, 0.9, 1, 1.15, 1.3];
const HEAD = ['requests/s', 'mean', 'p99', 'on time', 'batch'];
const BAR_WIDTH = 20;
/** Column of the target on a bar. */
const TARGET_AT = 16;

export function loadTable(
  input: PlanInput,
  largestRate: number,
  loads: readonly LoadResult[],
  palette: Palette,
): string {
  const shown = loads.filter(
    ({ perSecond }) =>
      perSecond === input.perSecond || ROWS.some((share) => isNear(perSecond, share * largestRate)),
  );
  const ruler = `${'mean █ p99 ░'.padEnd(TARGET_AT - 1)}│${formatTarget(input.targetLatencyMs)}`;
  const rows = shown.map((load) => {
    const remark = remarkOn(load.perSecond, input.perSecond, largestRate);
    return [...cellsOf(load), `${barOf(load, input.targetLatencyMs)}${remark}`];
  });
  const [head = '', ...lines] = alignedTable(
    [[...HEAD, ruler], ...rows],
    [...HEAD.map(() => 'right' as const), 'left'],
  ).split('\n');
  return [
    palette.heading('Other loads'),
    `  ${palette.faint(head)}`,
    ...lines.map((line) => `  ${line}`),
  ].join('\n');
}

function cellsOf({ perSecond, meanMs, p99Ms, goodput, meanBatchSize }: LoadResult): string[] {
  return [
    formatCount(perSecond),
    formatMs(meanMs),
    formatMs(p99Ms),
    formatShare(goodput),
    formatBatch(meanBatchSize),
  ];
}

function remarkOn(perSecond: number, given: number, largest: number): string {
  if (perSecond === given) return ' ← yours';
  return perSecond === largest ? ' ← largest' : '';
}

/** A bar for mean and p99, relative to the target. */
function barOf({ meanMs, p99Ms }: LoadResult, targetLatencyMs: number): string {
  const columns = (ms: number) =>
    Number.isFinite(ms)
      ? Math.min(BAR_WIDTH, Math.max(1, Math.round((ms / targetLatencyMs) * TARGET_AT)))
      : 0;
  const mean = columns(meanMs);
  return `${'█'.repeat(mean)}${'░'.repeat(Math.max(0, columns(p99Ms) - mean))}`.padEnd(BAR_WIDTH);
}

/** Tolerates that rates are rounded. */
function isNear(value: number, other: number): boolean {
  return Math.abs(value - other) <= 0.01 * other;
}
