/** A run in several processes: each makes its share of the same traffic, and sends its figures every second. */
import { realClock } from 'batchwise';
import { ChildPart } from './child-part.js';
import type { LoadRun, RunSpec } from './load-run.js';
import { DEFAULT_STOP_SECONDS } from './prepare-part.js';
import { Run } from './run.js';
import { targetName } from './target-name.js';

/** From the message to the start: all processes have it by then. */
const LEAD_MS = 50;

/** @throws {LoadError} */
export async function startProcesses(spec: RunSpec, count: number): Promise<LoadRun> {
  const clock = realClock;
  let run: Run | undefined;
  const parts = Array.from(
    { length: count },
    () => new ChildPart(clock, spec.stopSeconds ?? DEFAULT_STOP_SECONDS),
  );
  let shapes: boolean[];
  try {
    shapes = await Promise.all(
      parts.map((part, index) =>
        part.prepare(
          spec,
          { index, count },
          {
            onInterval: (interval) => run?.addInterval(interval),
            onStopping: (afterSeconds) => run?.partStopping(part, afterSeconds),
            onEnded: () => run?.partEnded(part),
            onLost: (how) =>
              run?.warn(
                `Process ${index + 1} of ${count} was lost (${how}): its share of the traffic and its last figures are missing.`,
              ),
          },
        ),
      ),
    );
  } catch (error) {
    for (const part of parts) part.kill();
    throw error;
  }
  const startAt = clock.now() + LEAD_MS;
  const atEpochMs = performance.timeOrigin + startAt;
  run = new Run({
    spec,
    target: targetName(spec),
    hasShape: shapes.includes(true),
    clock,
    startAt,
    startedAt: new Date(atEpochMs),
  });
  for (const part of parts) {
    run.addPart(part);
    part.start(atEpochMs);
  }
  return run;
}
