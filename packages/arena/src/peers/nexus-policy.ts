import type { CurveEstimate, Policy, QueueView } from 'batchwise';

/**
 * Nexus: a planned batch size, and early drop. When a slot is free, a window of the planned size slides from the head of
 * the queue to the first item that would be on time if the whole window ran now; the window is dispatched and the items
 * before it are dropped.
 *
 * The planned size is that of a backend with one model: the largest batch with 2·T(b) ≤ target, so that an item that
 * just missed a batch is on time with the next one. Where this does not keep up with the arrivals, or no batch is that
 * quick, Nexus adds backends. Here their number is fixed, and the largest batch with T(b) ≤ target is planned instead.
 * T and the rate are learned; before the first batch everything that fits is dispatched.
 */
export function nexus(targetLatencyMs: number): Policy {
  /** The two planned costs, and the number of samples from which they were computed. */
  let halfTarget = 0;
  let wholeTarget = 0;
  let samples = Number.NaN;

  function plannedCost({ curve, limits, slots, traffic }: QueueView, costEach: number, now: number): number {
    if (curve.samples !== samples) {
      samples = curve.samples;
      halfTarget = largestWithin(curve, targetLatencyMs / 2, limits.maxBatchSize);
      wholeTarget = largestWithin(curve, targetLatencyMs, limits.maxBatchSize);
    }
    const costPerMs = (slots * halfTarget) / (curve.mean(halfTarget) ?? 0);
    return traffic.ratePerMs(now) * costEach <= costPerMs ? halfTarget : wholeTarget;
  }

  return {
    name: 'nexus',
    decide(view, now) {
      const { length } = view;
      const costEach = view.cost / length;
      const planned = Math.max(1, Math.floor(plannedCost(view, costEach, now) / costEach));
      let head = 0;
      while (head < length && isTooLate(head)) head += 1;
      if (head > 0)
        return { action: 'reject', positions: Array.from({ length: head }, (_, position) => position) };
      const count = Math.min(planned, length);
      return { action: 'dispatch', count, reason: count === planned ? 'full' : 'idle' };

      function isTooLate(position: number): boolean {
        if (targetLatencyMs === Number.POSITIVE_INFINITY) return false;
        const batchMs = view.curve.mean(Math.min(planned, length - position) * costEach) ?? 0;
        return now + batchMs > view.arrivedAt(position) + targetLatencyMs;
      }
    },
  };
}

/** The largest whole cost with at most this predicted duration; 0 for none. Durations rise with cost. */
function largestWithin(curve: CurveEstimate, durationMs: number, maxCost: number): number {
  let fits = 0;
  let tooLarge = maxCost + 1;
  while (tooLarge - fits > 1) {
    const middle = Math.floor((fits + tooLarge) / 2);
    if ((curve.mean(middle) ?? 0) <= durationMs) fits = middle;
    else tooLarge = middle;
  }
  return fits;
}
