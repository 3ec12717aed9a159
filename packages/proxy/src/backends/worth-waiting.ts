/**
 * Whether a batch is better off waiting for a backend that is busy than leaving for one that is free. Of a quick and a
 * slow one, the slow one would get every batch that comes while the quick one is at work. Pure.
 */
import type { BackendLoad } from 'batchwise';

/** So much sooner it must be done there: predictions are not better than that. */
const SOONER = 1.5;

export interface WaitingBatch {
  readonly size: number;
  /** How many batches of this size wait before it, or with it; a share of one counts. */
  readonly ahead: number;
}

/** For how long to wait, at most; 0 when it should leave now. */
export function worthWaitingMs(
  free: readonly BackendLoad[],
  busy: readonly BackendLoad[],
  { size, ahead }: WaitingBatch,
  now: number,
): number {
  if (free.length === 0) return 0;
  const leaveMs = Math.min(...free.map((backend) => backend.predictedWaitMs(size, now)));
  let bestMs = Number.POSITIVE_INFINITY;
  let freeInMs = 0;
  for (const backend of busy) {
    const waitMs = backend.predictedWaitMs(size, now);
    const durationMs = backend.curve.predict(size) ?? Number.POSITIVE_INFINITY;
    const doneMs = waitMs + ahead * durationMs;
    if (doneMs < bestMs) {
      bestMs = doneMs;
      freeInMs = waitMs - durationMs;
    }
  }
  return bestMs * SOONER < leaveMs ? Math.max(1, freeInMs) : 0;
}
