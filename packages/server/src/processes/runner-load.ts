/**
 * The predicted latency of one more call, which a runner process reports to the web processes. The web processes choose
 * between replicas by it: every replica has its own queue and batches the calls of all of them.
 */
import type { RunnerSettings } from '@batchwise/runners';
import type { BatcherStats, CurvePoint } from 'batchwise';

export interface RunnerLoad {
  /** The predicted latency of the next call. */
  readonly waitMs: number;
  /** What each further call adds to it. */
  readonly waitMsPerCall: number;
}

/** The assumed duration of a batch before the first was measured, so that the shorter queue is preferred. */
const UNKNOWN_MS = 1;

/** The load of a runner without statistics, by the number of its calls. */
export function loadByCalls(calls: number): RunnerLoad {
  return { waitMs: UNKNOWN_MS * (calls + 1), waitMsPerCall: UNKNOWN_MS };
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
  // If all slots are taken, the next one is free on average halfway through the running batches.
  const untilFreeMs = batchesRunning < slots ? 0 : durationAt(curve, running / batchesRunning) / (2 * slots);
  return {
    waitMs: untilFreeMs + (batchesAhead * fullMs) / slots + durationAt(curve, Math.min(lastCost, maxCost)),
    waitMsPerCall: (costPerCall * fullMs) / (Math.max(1, maxCost) * slots),
  };
}

/** Linear between the points of the curve, constant beyond its ends. */
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
