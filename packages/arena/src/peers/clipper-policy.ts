import type { Policy } from 'batchwise';

const GROWTH = 1;
const BACKOFF = 0.9;

/**
 * Clipper: leave when a slot is free, with as many as the cap allows. The cap begins at 1, grows by one
 * when a batch that was as large as it took no longer than the target, and falls to 0.9 of itself when
 * a batch took longer. The target is held against the batch alone; how long its items waited before is
 * not looked at. Without a target the cap only grows.
 */
export function clipper(targetMs: number): Policy {
  let cap = 1;
  return {
    name: 'clipper',
    decide(view) {
      const count = Math.min(view.length, Math.floor(cap));
      return { action: 'dispatch', count, reason: count < view.length ? 'full' : 'idle' };
    },
    observeBatch({ size, durationMs }) {
      if (durationMs > targetMs) cap = Math.max(1, cap * BACKOFF);
      else if (size >= Math.floor(cap)) cap += GROWTH;
    },
  };
}
