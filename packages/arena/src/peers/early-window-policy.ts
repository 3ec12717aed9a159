import type { Policy } from 'batchwise';

/**
 * The window of seeds 000 and 002: the first item opens it, and the batch is bound when it is full or
 * `windowMs` have passed, whether or not a slot is free. Bound batches wait in order for slots and grow
 * no more.
 *
 * So the batches are a function of the arrival times alone, and nothing has to be kept of them: whoever
 * is at the head came first after the latest batch was bound, and opened the next.
 */
export function earlyWindow(windowMs: number): Policy {
  return {
    name: 'early-window',
    decide(view, now) {
      const { maxBatchSize } = view.limits;
      const boundAt = view.arrivedAt(0) + windowMs;
      if (now < boundAt) {
        // All that waits came within the window.
        if (view.cost >= maxBatchSize) return { action: 'dispatch', count: view.length, reason: 'full' };
        return { action: 'wait', until: boundAt, wakeOnBatchEnd: false };
      }
      let count = 1;
      let cost = view.costAt(0);
      while (count < view.length && view.arrivedAt(count) <= boundAt) {
        cost += view.costAt(count);
        if (cost > maxBatchSize) return { action: 'dispatch', count, reason: 'full' };
        count += 1;
      }
      return { action: 'dispatch', count, reason: cost === maxBatchSize ? 'full' : 'window' };
    },
  };
}
