import { validKeys, validMs } from '../errors/valid.js';
import type { Policy } from './policy.js';

export interface WindowOptions {
  /** How long the first item of a batch waits for company, at most; where timers count milliseconds, up to one less. */
  readonly maxWaitMs: number;
}

/**
 * Leave when the batch is full or its oldest item has waited `maxWaitMs`. The classic rule; it makes
 * a lone caller pay the whole window, which `greedy()` does not.
 */
export function window(options: WindowOptions): Policy {
  if (typeof options === 'object' && options !== null) validKeys('window(options)', options, ['maxWaitMs']);
  const maxWaitMs = validMs('window({ maxWaitMs })', options?.maxWaitMs);
  return {
    name: 'window',
    decide(view, now) {
      if (view.cost >= view.limits.maxBatchSize)
        return { action: 'dispatch', count: view.length, reason: 'full' };
      // A timer is late by up to its resolution: rather than late, the window ends early by as much.
      const earlyMs = Math.min(view.limits.timerResolutionMs, maxWaitMs / 2);
      const windowEnd = view.oldestAt + maxWaitMs - earlyMs;
      if (now >= windowEnd) return { action: 'dispatch', count: view.length, reason: 'window' };
      return { action: 'wait', until: windowEnd, wakeOnBatchEnd: false };
    },
  };
}
