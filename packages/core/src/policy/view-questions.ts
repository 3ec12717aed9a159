/** What the rules of the adaptive policy ask of a view. */
import type { QueueView } from './policy.js';

export function predict({ curve }: QueueView, cost: number): number {
  return curve.predict(cost) as number;
}

/** Of those who could be in the next batch. */
export function earliestDeadline(view: QueueView): number {
  const { cost, length, limits } = view;
  const { maxBatchSize } = limits;
  return view.earliestDeadline(cost <= maxBatchSize ? length : countWithin(view, maxBatchSize));
}

/** For how long those who wait could have left. */
export function heldMs({ oldestAt, freeSince }: QueueView, now: number): number {
  return now - Math.max(oldestAt, freeSince);
}

/** How much of a batch's time does not depend on its size. */
export function fixedPartMs(view: QueueView, unit: number): number {
  const largest = view.curve.points().at(-1);
  if (largest === undefined || largest.cost <= unit) return 0;
  const aloneMs = predict(view, unit);
  return Math.max(0, aloneMs - ((largest.durationMs - aloneMs) * unit) / (largest.cost - unit));
}

/** How many of the first together cost no more than this; one at least. */
export function countWithin(view: QueueView, cost: number): number {
  if (view.cost === view.length) return Math.max(1, Math.floor(cost));
  let sum = view.costAt(0);
  let count = 1;
  while (count < view.length && sum + view.costAt(count) <= cost) sum += view.costAt(count++);
  return count;
}

/** What the first so many cost. */
export function costOf(view: QueueView, count: number): number {
  let sum = 0;
  for (let position = 0; position < count; position++) sum += view.costAt(position);
  return sum;
}

export function lastUpTo(sizes: readonly number[], most: number): number {
  let last = 0;
  for (const size of sizes) if (size <= most) last = size;
  return last;
}
