/** The next batch of a view: how many items fit, what they cost, how long they take, and when they are due. */
import type { QueueView } from './policy.js';

/** The expected duration of a batch; called only when the curve is known. */
export function durationMs({ curve }: QueueView, cost: number): number {
  return curve.mean(cost) as number;
}

/** The duration to count on under a deadline. */
export function safeMs({ curve }: QueueView, cost: number): number {
  return curve.upper(cost) as number;
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
