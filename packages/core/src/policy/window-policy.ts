import { validKeys, validMs } from '../errors/valid.js';
import type { Policy } from './policy.js';

export interface WindowOptions {
  /** The longest hold of the first item of a batch; where timers count milliseconds, up to one less. */
  readonly maxWaitMs: number;
}

/**
 * Dispatches when the batch is full or its oldest item has waited `maxWaitMs`: the rule of most systems. A single
 * caller waits for the whole window, which it does not with `greedy()`.
 */
export function window(options: WindowOptions): Policy {
  if (typeof options === 'object' && options !== null) validKeys('window(options)', options, ['maxWaitMs']);
  const maxWaitMs = validMs('window({ maxWaitMs })', options?.maxWaitMs);
  return {
    name: 'window',
    decide(view, now) {
      if (view.cost >= view.limits.maxBatchSize)
        return { action: 'dispatch', count: view.length, reason: 'full' };
      // A timer is late by up to its resolution, so the window ends early by as much.
      const earlyMs = Math.min(view.limits.timerResolutionMs, maxWaitMs / 2);
      const windowEnd = view.oldestAt + maxWaitMs - earlyMs;
      if (now >= windowEnd) return { action: 'dispatch', count: view.length, reason: 'window' };
      return { action: 'wait', until: windowEnd, wakeOnBatchEnd: false };
    },
  };
}
