import type { Policy, Reason } from './policy.js';

/**
 * Leave when a slot is free. Batches grow by themselves while all slots are busy; nobody waits for
 * company. With one slot and a cost that grows evenly with size, nothing does better.
 */
export function greedy(): Policy {
  return {
    name: 'greedy',
    decide: ({ length, cost, limits, waitingElsewhere }) => ({
      action: 'dispatch',
      count: length,
      reason: reasonToLeave(cost, limits.maxBatchSize, waitingElsewhere),
    }),
  };
}

/** Why a batch leaves that does not wait for company. */
export function reasonToLeave(cost: number, maxBatchSize: number, waitingElsewhere: number): Reason {
  if (cost >= maxBatchSize) return 'full';
  return waitingElsewhere > 0 ? 'group' : 'idle';
}
