import type { CurveEstimate, Policy, QueueView } from 'batchwise';

/**
 * Nexus: a planned batch size, and early drop. When a slot is free, a window of the planned size slides
 * from the head of the queue to the first item that would still be on time if the whole window ran now;
 * that window leaves, and what stands before it is dropped.
 *
 * The plan is that of a backend which serves one model: the largest batch with 2·T(b) ≤ target, so that
 * an item that has just missed a batch is on time with the next. Nexus gives a model more backends when
 * that does not keep up with the arrivals, or when not even one item is that quick. Here it has what it
 * has, and plans the largest batch with T(b) ≤ target. T and the rate are learned; until anything is
 * known of T, all that fits leaves.
 */
export function nexus(targetMs: number): Policy {
  /** The two plans, by cost, and what was known when they were made. */
  let inTime = 0;
  let atMost = 0;
  let samples = Number.NaN;

  function plannedCost({ curve, limits, slots, arrivals }: QueueView, costEach: number, now: number): number {
    if (curve.samples !== samples) {
      samples = curve.samples;
      inTime = largestWithin(curve, targetMs / 2, limits.maxBatchSize);
      atMost = largestWithin(curve, targetMs, limits.maxBatchSize);
    }
    const costPerMs = (slots * inTime) / (curve.predict(inTime) ?? 0);
    return arrivals.ratePerMs(now) * costEach <= costPerMs ? inTime : atMost;
  }

  return {
    name: 'nexus',
    decide(view, now) {
      const { length } = view;
      const costEach = view.cost / length;
      const planned = Math.max(1, Math.floor(plannedCost(view, costEach, now) / costEach));
      let head = 0;
      while (head < length && isTooLate(head)) head += 1;
      if (head === length) return { action: 'wait', until: Number.POSITIVE_INFINITY, refuse: length };
      const count = Math.min(planned, length - head);
      return { action: 'dispatch', count, reason: count === planned ? 'full' : 'idle', refuse: head };

      function isTooLate(position: number): boolean {
        if (targetMs === Number.POSITIVE_INFINITY) return false;
        const batchMs = view.curve.predict(Math.min(planned, length - position) * costEach) ?? 0;
        return now + batchMs > view.arrivedAt(position) + targetMs;
      }
    },
  };
}

/** The largest whole cost that is expected to take no longer; 0 when none is. Durations rise with cost. */
function largestWithin(curve: CurveEstimate, durationMs: number, maxCost: number): number {
  let fits = 0;
  let tooLarge = maxCost + 1;
  while (tooLarge - fits > 1) {
    const middle = Math.floor((fits + tooLarge) / 2);
    if ((curve.predict(middle) ?? 0) <= durationMs) fits = middle;
    else tooLarge = middle;
  }
  return fits;
}
