import type { Policy } from 'batchwise';

const GROWTH = 1;
const BACKOFF = 0.9;

/**
 * Clipper: dispatches when a slot is free, up to a cap (additive increase, multiplicative decrease). The cap begins at
 * 1, grows by 1 after a batch of that size within the target, and falls to 0.9 × after a batch that took longer. The
 * target applies to the service time only, without the queue wait. Without a target the cap only grows.
 */
export function clipper(targetLatencyMs: number): Policy {
  let cap = 1;
  return {
    name: 'clipper',
    decide(view) {
      const count = Math.min(view.length, Math.floor(cap));
      return { action: 'dispatch', count, reason: count < view.length ? 'full' : 'idle' };
    },
    observeBatch({ size, durationMs }) {
      if (durationMs > targetLatencyMs) cap = Math.max(1, cap * BACKOFF);
      else if (size >= Math.floor(cap)) cap += GROWTH;
    },
  };
}
