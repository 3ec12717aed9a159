/**
 * How busy a runner is, told by its process to those who choose between replicas: in how long it would
 * answer one more call, by what it has learned of its backend.
 */
import type { RunnerSettings } from '@batchwise/runners';
import type { BatcherStats, CurvePoint } from 'batchwise';

export interface RunnerLoad {
  readonly queuedCost: number;
  readonly running: number;
  /** From the arrival of one more call to its answer. */
  readonly waitMs: number;
  /** How much longer that is for each further call. */
  readonly waitMsPerCall: number;
}

/** What a batch is taken to need before the first has been seen: then the shorter queue counts as quicker. */
const UNKNOWN_MS = 1;

/** Of a runner whose batcher cannot be looked at only the calls it holds are known. */
export function loadByCalls(calls: number): RunnerLoad {
  return { queuedCost: calls, running: 0, waitMs: UNKNOWN_MS * (calls + 1), waitMsPerCall: UNKNOWN_MS };
}

export function loadOf(
  stats: BatcherStats,
  settings: Pick<RunnerSettings, 'batching' | 'concurrency'>,
): RunnerLoad {
  const { curve, queued, queuedCost, running, batchesRunning } = stats;
  const maxCost = settings.batching.enabled ? settings.batching.maxBatchSize : 1;
  const slots = Math.max(1, settings.concurrency);
  const costPerCall = queued === 0 ? 1 : queuedCost / queued;
  const fullMs = durationAt(curve, maxCost);
  const batchesAhead = Math.floor(queuedCost / maxCost);
  const lastCost = (queuedCost % maxCost) + costPerCall;
  // When all slots are taken, the next is free on average halfway through what runs.
  const untilFreeMs = batchesRunning < slots ? 0 : durationAt(curve, running / batchesRunning) / (2 * slots);
  return {
    queuedCost,
    running,
    waitMs: untilFreeMs + (batchesAhead * fullMs) / slots + durationAt(curve, Math.min(lastCost, maxCost)),
    waitMsPerCall: (costPerCall * fullMs) / (Math.max(1, maxCost) * slots),
  };
}

/** Between the points of the curve on a line; beyond its ends as at them. */
function durationAt(curve: readonly CurvePoint[], cost: number): number {
  let below: CurvePoint | undefined;
  for (const point of curve) {
    if (point.cost >= cost) {
      if (below === undefined) return point.durationMs;
      const part = (cost - below.cost) / (point.cost - below.cost);
      return below.durationMs + part * (point.durationMs - below.durationMs);
    }
    below = point;
  }
  return below?.durationMs ?? UNKNOWN_MS;
}
