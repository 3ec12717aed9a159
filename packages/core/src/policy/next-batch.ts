/** What the rules ask of a view: whether it is known or overloaded, and what its next batch costs and when it is due. */
import { isKnown, type KnownCurve } from '../learning/service-curve.js';
import type { QueueView } from './policy.js';

/** A view after the first batches have ended. */
export interface LearnedView extends QueueView {
  readonly curve: KnownCurve;
}

export function isLearned(view: QueueView): view is LearnedView {
  return isKnown(view.curve);
}

/** Whether more arrives than all slots can serve in batches of the best size; of a group, by itself. */
export function isOverload({ curve, limits, slots, traffic }: LearnedView, now: number): boolean {
  return (
    traffic.costPerMs(now) > slots * (curve.capacityPerMs(limits.maxBatchSize) ?? Number.POSITIVE_INFINITY)
  );
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
