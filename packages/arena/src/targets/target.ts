/** What a target is made of: the cells it is about, what is measured in each, and what is asked of that. */
import type { Cell } from '../grid/grid-cell.js';

export type Extent = 'quick' | 'full';

/** What was measured in a cell, under short names. NaN, or nothing at all, where the cell has no such figure. */
export interface CellResult {
  readonly cell: Cell;
  readonly measures: Readonly<Record<string, number>>;
  /** Which peer was best, where peers were asked. */
  readonly bestPeer?: string;
}

export interface Goal {
  /** Unique among all goals of all targets, in snake_case. */
  readonly id: string;
  readonly what: string;
  /** Which of the measures. */
  readonly measure: string;
  /** What has to reach the goal: every cell, or the mean of all. */
  readonly over: 'worst' | 'mean';
  readonly better: 'lower' | 'higher';
  readonly goal: number;
  /** Of which cells, if not of all. */
  readonly where?: (cell: Cell) => boolean;
}

/** Something worth to be told beside the goals. */
export type Aside = Pick<Goal, 'what' | 'measure' | 'better' | 'where'>;

export interface Target {
  /** Of SCHEDULING's table; 9 for what is asked of the door. */
  readonly number: number;
  readonly name: string;
  readonly what: string;
  readonly goals: readonly Goal[];
  readonly asides?: readonly Aside[];
  /** Which measures the table of families shows. */
  readonly family: {
    readonly what: string;
    readonly toBound?: string;
    readonly toBestPeer?: string;
    readonly better: 'lower' | 'higher';
  };
  cells(extent: Extent, firstSeed: number): readonly Cell[];
  play(cell: Cell): Promise<CellResult>;
}

/** So many seeds from the first. */
export function seedsFrom(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}
