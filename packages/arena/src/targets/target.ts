/** A target: its cells, the measures of each cell, and the goals. */
import type { Cell } from '../grid/grid-cell.js';

export type Extent = 'quick' | 'full';

/** The measures of a cell by name; NaN or missing where the cell has none. */
export interface CellResult {
  readonly cell: Cell;
  readonly measures: Readonly<Record<string, number>>;
  /** The best peer of the cell, if peers ran. */
  readonly bestPeer?: string;
}

export interface Goal {
  /** Unique among all goals of all targets, in snake_case. */
  readonly id: string;
  readonly what: string;
  /** The name of the measure. */
  readonly measure: string;
  /** Whether every cell or the mean of all cells has to reach the goal. */
  readonly over: 'worst' | 'mean';
  readonly better: 'lower' | 'higher';
  readonly goal: number;
  /** The cells of the goal. @default all */
  readonly where?: (cell: Cell) => boolean;
}

/** A figure that is reported without a goal. */
export type Aside = Pick<Goal, 'what' | 'measure' | 'better' | 'where'>;

export interface Target {
  readonly number: number;
  readonly name: string;
  readonly what: string;
  readonly goals: readonly Goal[];
  readonly asides?: readonly Aside[];
  /** The measures in the table of families. */
  readonly family: {
    readonly what: string;
    readonly toBound?: string;
    readonly toBestPeer?: string;
    readonly better: 'lower' | 'higher';
  };
  cells(extent: Extent, firstSeed: number): readonly Cell[];
  play(cell: Cell): Promise<CellResult>;
}

export function seedsFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

/** A goal for every cell: no value above this one. */
export function atMost(goal: number): Pick<Goal, 'over' | 'better' | 'goal'> {
  return { over: 'worst', better: 'lower', goal };
}

/** A goal for every cell: no value below this one. */
export function atLeast(goal: number): Pick<Goal, 'over' | 'better' | 'goal'> {
  return { over: 'worst', better: 'higher', goal };
}
