/** A figure: its name, its measurement, and its rows in the report. */
import type { Effort as CommonEffort, Goal, NamedFigure } from '@batchwise/bench-harness';
import type { Rounds } from './rounds.js';

/** The unit of a number, which determines its format. */
export type Unit = 'ratio' | 'count' | 'bytes' | 'ms' | 'us';

export interface Row {
  readonly label: string;
  readonly unit: Unit;
  /** One for each round. */
  readonly samples: readonly number[];
  readonly goal?: Goal;
  /** The absolute numbers, as text. */
  readonly detail?: string;
}

export interface FigureResult {
  readonly rows: readonly Row[];
  /** Notes for the interpretation of the rows. */
  readonly notes?: readonly string[];
  /** All measurements, by contender, one for each round. */
  readonly raw: Readonly<Record<string, unknown>>;
}

export interface Effort extends CommonEffort {
  /** The longest queue to measure. */
  readonly maxQueued: number;
}

export interface Figure extends NamedFigure {
  measure(rounds: Rounds, effort: Effort): Promise<FigureResult>;
}
