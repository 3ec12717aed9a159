/** Starts a run: checks everything first, then makes the traffic in this process or in several. */
import { type Clock, realClock } from 'batchwise';
import { checkRunSpec } from './check-run-spec.js';
import type { CreateWork } from './create-work.js';
import type { LoadRun, RunSpec } from './load-run.js';
import { preparePart } from './prepare-part.js';
import { Run } from './run.js';
import { WHOLE } from './share.js';
import { startProcesses } from './start-processes.js';
import { targetName } from './target-name.js';

/** Of a run in this process only. */
export interface StartOptions {
  readonly clock?: Clock;
  /** @default what the spec says */
  readonly createWork?: CreateWork;
}

/** @throws {LoadError} whatever can be known before the first request */
export async function startRun(spec: RunSpec, options: StartOptions = {}): Promise<LoadRun> {
  checkRunSpec(spec);
  const { processes = 1 } = spec;
  if (processes > 1) return startProcesses(spec, processes);
  return startHere(spec, options);
}

async function startHere(spec: RunSpec, { clock = realClock, createWork }: StartOptions): Promise<LoadRun> {
  let run: Run | undefined;
  const { part, hasShape } = await preparePart(
    spec,
    { share: WHOLE, clock, create: createWork },
    {
      onInterval: (interval) => run?.addInterval(interval),
      onStopping: (afterSeconds) => run?.partStopping(part, afterSeconds),
      onEnded: () => run?.partEnded(part),
    },
  );
  const startAt = clock.now();
  run = new Run({ spec, target: targetName(spec), hasShape, clock, startAt, startedAt: new Date() });
  run.addPart(part);
  part.start(startAt);
  return run;
}
