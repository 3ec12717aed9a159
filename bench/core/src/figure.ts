/** A figure: what it is called, how it is measured, and the rows it ends up as in the report. */
import type { Effort as CommonEffort, Goal, NamedFigure } from '@batchwise/bench-harness';
import type { Rounds } from './rounds.js';

/** What a number counts, which decides how it is written. */
export type Unit = 'ratio' | 'count' | 'bytes' | 'ms' | 'us';

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

export interface Effort extends CommonEffort {
  /** The deepest queue that is tried. */
  readonly maxQueued: number;
}

export interface Figure extends NamedFigure {
  measure(rounds: Rounds, effort: Effort): Promise<FigureResult>;
}
