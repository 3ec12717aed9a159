/** A figure of this benchmark, and what it is told about the run. */
import type { Effort as CommonEffort, Figure as CommonFigure } from '@batchwise/bench-harness';
import type { TrialName } from './trial.js';

/** How much effort a run makes, and who takes part. */
export interface Effort extends CommonEffort {
  readonly contenders: readonly TrialName[];
}

export type Figure = CommonFigure<Effort>;
