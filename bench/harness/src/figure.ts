/** A figure: what it is called, how it is measured, and the tables it ends up as in the report. */
import type { Goal } from './goal.js';
import type { Say } from './say.js';
import type { Table } from './table.js';

/** What decides: a number for each round, its goal beside it. */
export interface Verdict {
  readonly label: string;
  readonly samples: readonly number[];
  readonly digits: number;
  readonly goal?: Goal;
}

export interface FigureResult {
  /** The absolute numbers behind the verdicts, as text. */
  readonly tables: readonly Table[];
  readonly verdicts: readonly Verdict[];
  /** What a reader should know before believing it. */
  readonly notes: readonly string[];
  /** Every number that was measured, by contender, one for each round. */
  readonly raw: Readonly<Record<string, unknown>>;
}

/** How much effort a run makes. */
export interface Effort {
  readonly rounds: number;
  readonly warmupMs: number;
  readonly timedMs: number;
}

export interface NamedFigure {
  /** As `--only` knows it. */
  readonly name: string;
  readonly title: string;
}

export interface Figure<RunEffort = Effort, Result = FigureResult> extends NamedFigure {
  measure(effort: RunEffort, say: Say): Promise<Result>;
}

export interface Measured<Result = FigureResult> {
  readonly figure: NamedFigure;
  readonly result: Result;
}
