/** Evaluates goals on the results of cells, and the limits of `--check`. */
import { type Cell, cellName } from '../grid/grid-cell.js';
import type { Aside, CellResult, Extent, Goal } from './target.js';

export interface Figure {
  /** Number of cells that have this figure. */
  readonly cells: number;
  readonly mean: number;
  readonly worst: number;
  readonly worstCell: string;
}

export interface GoalFigure extends Figure {
  readonly goal: Goal;
  /** The mean or the worst value, as in `goal.over`. */
  readonly value: number;
  readonly reached: boolean;
}

export function judge(goal: Goal, results: readonly CellResult[]): GoalFigure {
  const figure = figureOf(goal, results);
  const value = goal.over === 'worst' ? figure.worst : figure.mean;
  return { goal, ...figure, value, reached: isReached(value, goal) };
}

export function figureOf(
  { measure, better, where }: Omit<Aside, 'what'>,
  results: readonly CellResult[],
): Figure {
  const found = valuesOf(results, measure, where);
  return { cells: found.length, ...summary(found, better) };
}

/** False for NaN: a goal without a figure is not reached. */
export function isReached(value: number, { better, goal }: Pick<Goal, 'better' | 'goal'>): boolean {
  return better === 'lower' ? value <= goal : value >= goal;
}

interface CellValue {
  readonly cell: Cell;
  readonly value: number;
}

function valuesOf(
  results: readonly CellResult[],
  measure: string,
  where: (cell: Cell) => boolean = () => true,
): CellValue[] {
  return results
    .filter(({ cell }) => where(cell))
    .map(({ cell, measures }) => ({ cell, value: measures[measure] ?? Number.NaN }))
    .filter(({ value }) => !Number.isNaN(value));
}

function summary(
  found: readonly CellValue[],
  better: 'lower' | 'higher',
): { readonly mean: number; readonly worst: number; readonly worstCell: string } {
  const [first] = found;
  if (first === undefined) return { mean: Number.NaN, worst: Number.NaN, worstCell: '' };
  let worst = first;
  let sum = 0;
  for (const each of found) {
    sum += each.value;
    if (better === 'lower' ? each.value > worst.value : each.value < worst.value) worst = each;
  }
  return { mean: sum / found.length, worst: worst.value, worstCell: cellName(worst.cell) };
}

/** A goal that is not reached, and the limits of its figures. */
type Limits = { readonly goal: number } & { readonly [E in Extent]?: number };

/**
 * The limits of `--check` where they differ from the goal: the figure when the limit was set, plus a margin. Tighten
 * them whenever a figure improves.
 */
export const LIMITS: Readonly<Record<string, Limits>> = {
  best_peer_mean: { goal: 1.01, quick: 1.11 },
  one_slot_mean: { goal: 1.01, quick: 1.015 },
  best_peer_mean_hold_out: { goal: 1.03, quick: 1.16 },
  best_peer_p99: { goal: 1.05, quick: 1.54 },
  goodput_cold_worst: { goal: 0.85, quick: 0.8 },
  admission_accepted: { goal: 0.97, quick: 0.965 },
  noisy_mean: { goal: 1.03, quick: 1.17 },
  unequal_stepped_mean: { goal: 1.05, quick: 1.15 },
};

export function limitOf({ id, goal }: Pick<Goal, 'id' | 'goal'>, extent: Extent): number {
  return LIMITS[id]?.[extent] ?? goal;
}
