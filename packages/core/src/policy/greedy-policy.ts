import type { Policy, Reason } from './policy.js';

/**
 * Dispatches all queued items as soon as a slot is free. Batches grow while all slots are busy; no item is held. With one
 * slot, a duration that grows evenly with the size and Poisson arrivals, nothing does better.
 */
export function greedy(): Policy {
  return {
    name: 'greedy',
    decide: ({ length, cost, limits, waitingElsewhere }) => ({
      action: 'dispatch',
      count: length,
      reason: reasonToDispatch(cost, limits.maxBatchSize, waitingElsewhere),
    }),
  };
}

/** The reason of a batch that was not held. */
export function reasonToDispatch(cost: number, maxBatchSize: number, waitingElsewhere: number): Reason {
  if (cost >= maxBatchSize) return 'full';
  return waitingElsewhere > 0 ? 'group' : 'idle';
}
