/** A figure: what it is called, how it is measured, and the tables it ends up as in the report. */
export interface Goal {
  readonly text: string;
  isMet(median: number): boolean;
}

/** What decides: a number for each round, its goal beside it. */
export interface Verdict {
  readonly label: string;
  readonly samples: readonly number[];
  readonly digits: number;
  readonly goal?: Goal;
}

/** The absolute numbers behind it, as text. */
export interface Table {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export interface FigureResult {
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

export type Say = (text: string) => void;

export interface Figure {
  /** As `--only` knows it. */
  readonly name: string;
  readonly title: string;
  measure(effort: Effort, say: Say): Promise<FigureResult>;
}

export function atLeast(bound: number): Goal {
  return { text: `≥ ${bound}`, isMet: (median) => median >= bound };
}

export function atMost(bound: number): Goal {
  return { text: `≤ ${bound}`, isMet: (median) => median <= bound };
}
