/** The work of a run in one process. */
import type { Clock } from 'batchwise';
import type { Recorder } from '../statistics/interval.js';
import { createTarget } from '../targets/create-target.js';
import type { RunSpec } from './load-run.js';
import type { LoadShape } from './load-shape.js';
import type { Share } from './share.js';
import { TargetWork } from './target-work.js';
import type { Work } from './work.js';

export interface WorkContext {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly share: Share;
  readonly seed: number;
}

export interface CreatedWork {
  readonly work: Work;
  readonly shape?: LoadShape | undefined;
}

export type CreateWork = (spec: RunSpec, context: WorkContext) => Promise<CreatedWork>;

/** @throws {LoadError} */
export async function createWork(spec: RunSpec, context: WorkContext): Promise<CreatedWork> {
  if (spec.work.kind === 'scenario') {
    // A process without a scenario need not load the compiler of TypeScript.
    const { ScenarioWork } = await import('../scenario/scenario-work.js');
    const work = await ScenarioWork.load(spec.work, context);
    return { work, shape: work.shape };
  }
  const { recorder, clock, share } = context;
  return { work: new TargetWork(createTarget(spec.work.target), recorder, clock, share) };
}
