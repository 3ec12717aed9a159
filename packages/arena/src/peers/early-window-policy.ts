import type { Policy } from 'batchwise';

/**
 * A window that does not depend on the backend: the first item opens it, and the batch is closed when it is full or after `windowMs`,
 * whether or not a slot is free. Closed batches wait for slots in order and do not grow.
 *
 * So the batches are a function of the arrival times alone and need no state: the head of the queue is the first
 * arrival after the latest batch was closed, and opened the next window.
 */
export function earlyWindow(windowMs: number): Policy {
  return {
    name: 'early-window',
    decide(view, now) {
      const { maxBatchSize } = view.limits;
      const closedAt = view.arrivedAt(0) + windowMs;
      if (now < closedAt) {
        // The whole queue arrived within the window.
        if (view.cost >= maxBatchSize) return { action: 'dispatch', count: view.length, reason: 'full' };
        return { action: 'wait', until: closedAt, wakeOnBatchEnd: false };
      }
      let count = 1;
      let cost = view.costAt(0);
      while (count < view.length && view.arrivedAt(count) <= closedAt) {
        cost += view.costAt(count);
        if (cost > maxBatchSize) return { action: 'dispatch', count, reason: 'full' };
        count += 1;
      }
      return { action: 'dispatch', count, reason: cost === maxBatchSize ? 'full' : 'window' };
    },
  };
}
