/** A figure: what it is called, how it is measured, and the rows it ends up as in the report. */
import type { Rounds } from './rounds.js';

/** What a number counts, which decides how it is written. */
export type Unit = 'ratio' | 'count' | 'bytes' | 'ms' | 'us';

export interface Goal {
  readonly text: string;
  isMet(median: number): boolean;
}

export interface Row {
  readonly label: string;
  readonly unit: Unit;
  /** One for each round. */
  readonly samples: readonly number[];
  readonly goal?: Goal;
  /** The absolute numbers behind it, in words. */
  readonly detail?: string;
}

export interface FigureResult {
  readonly rows: readonly Row[];
  /** What a reader should know before believing the rows. */
  readonly notes?: readonly string[];
  /** Every number that was measured, by contender, one for each round. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** How much effort a run makes. */
export interface Effort {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly timedMs: number;
  /** The deepest queue that is tried. */
  readonly maxQueued: number;
}

export interface Figure {
  /** As `--only` knows it. */
  readonly name: string;
  readonly title: string;
  measure(rounds: Rounds, effort: Effort): Promise<FigureResult>;
}

export function atLeast(bound: number): Goal {
  return { text: `≥ ${bound.toFixed(1)}`, isMet: (median) => median >= bound };
}

export function atMost(bound: number, digits = 1): Goal {
  return { text: `≤ ${bound.toFixed(digits)}`, isMet: (median) => median <= bound };
}

export function within(low: number, high: number): Goal {
  return {
    text: `${low.toFixed(1)}–${high.toFixed(1)}`,
    isMet: (median) => median >= low && median <= high,
  };
}
