/** Derived quantities of a view that several rules ask for. */
import type { QueueView } from './policy.js';

/** The share of a prediction that counts where too high a one would do harm: of a saving, or of a rising rate. */
export const CAUTION = 0.9;

/** The expected duration of a batch; called only when the curve is known. */
export function durationMs({ curve }: QueueView, cost: number): number {
  return curve.mean(cost) as number;
}

/** The duration to count on under a deadline. */
export function safeMs({ curve }: QueueView, cost: number): number {
  return curve.upper(cost) as number;
}

/** The cost that arrives per millisecond. */
export function costPerMs({ traffic }: QueueView, now: number): number {
  return traffic.ratePerMs(now) * traffic.meanCost;
}

/** Whether more arrives than all slots can serve in batches of the best size. */
export function isOverload(view: QueueView, now: number): boolean {
  const best = view.curve.bestSize(view.limits.maxBatchSize);
  return best !== undefined && costPerMs(view, now) * best.durationMs > view.slots * best.cost;
}

/** The earliest deadline of the items that fit in the next batch. */
export function earliestDeadline(view: QueueView): number {
  const { cost, length, limits } = view;
  return view.earliestDeadline(cost <= limits.maxBatchSize ? length : countWithin(view, limits.maxBatchSize));
}

/** How long the queued items could have been dispatched already. */
export function heldMs({ oldestAt, freeSince }: QueueView, now: number): number {
  return now - Math.max(oldestAt, freeSince);
}

/** The part of a batch's duration that does not depend on its size; all of it as long as nothing larger than one item was measured. */
export function fixedPartMs(view: QueueView): number {
  const unit = view.traffic.meanCost;
  const aloneMs = durationMs(view, unit);
  const largest = view.curve.points().at(-1);
  if (largest === undefined || largest.cost <= unit) return aloneMs;
  return Math.max(0, aloneMs - ((largest.durationMs - aloneMs) * unit) / (largest.cost - unit));
}

/** How many of the first items together cost no more than this; at least one. */
export function countWithin(view: QueueView, cost: number): number {
  if (view.cost === view.length) return Math.min(view.length, Math.max(1, Math.floor(cost)));
  let sum = view.costAt(0);
  let count = 1;
  while (count < view.length && sum + view.costAt(count) <= cost) sum += view.costAt(count++);
  return count;
}

/** The cost of the first `count` items. */
export function costOf(view: QueueView, count: number): number {
  if (view.cost === view.length) return count;
  let sum = 0;
  for (let position = 0; position < count; position++) sum += view.costAt(position);
  return sum;
}
