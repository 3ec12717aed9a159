/**
 * Which items to serve when the earliest deadline would limit the batch to fewer than are queued. Meeting that deadline
 * makes every batch small and the queue longer. So the batch with the highest on-time throughput is served, and the items
 * before it that cannot be in time are rejected.
 */
import type { QueueView } from './policy.js';

export interface OnTimeWindow {
  /** The positions of items before the end of the batch that cannot be in time, or only with a lower throughput. */
  readonly rejected: readonly number[];
  /** The number of other items to serve together; 0 if no item can be in time. */
  readonly count: number;
}

/** The duration to assume for a batch of a cost: the mean, or a safe bound; monotone. */
type DurationOf = (cost: number) => number;

/** The longest queue that is examined: bounds the time of a decision. */
const MOST_POSITIONS = 2048;
/** The relative gain of throughput that justifies further rejections. */
const MIN_GAIN_TO_REJECT_MORE = 1.01;

export function bestWindow(
  view: QueueView,
  now: number,
  maxCost: number,
  durationMs: DurationOf,
  arrivingPerMs: number,
): OnTimeWindow {
  const length = Math.min(view.length, MOST_POSITIONS);
  /** Items that can be in time by themselves, in dispatch order. */
  const feasible: { readonly deadline: number; readonly cost: number; isExcluded: boolean }[] = [];
  let left = 0;
  for (let position = 0; position < length; position++) {
    const deadline = view.deadlineAt(position);
    const cost = view.costAt(position);
    if (now + durationMs(cost) > deadline) continue;
    feasible.push({ deadline, cost, isExcluded: false });
    left += cost;
  }
  if (feasible.length === 0) return { rejected: Array.from({ length }, (_, position) => position), count: 0 };
  const byDeadline = feasible.map((item, rank) => ({ item, rank }));
  byDeadline.sort((a, b) => a.item.deadline - b.item.deadline || a.rank - b.rank);
  const meanCost = left / feasible.length;
  const beyondCost = ((view.length - length) * view.cost) / view.length;
  let best = { cost: 0, endsAt: now, perMs: 0 };
  let first = 0;
  // With each step, the item with the earliest deadline is excluded and the batch may take longer.
  for (let i = 0; i < byDeadline.length; i++) {
    const { item, rank } = byDeadline[i] as (typeof byDeadline)[number];
    const { deadline } = item;
    while (feasible[first]?.isExcluded) first += 1;
    const cost = largestWithin(
      deadline - now,
      Math.min(left, maxCost),
      durationMs,
      view.cost === view.length,
    );
    const takesMs = durationMs(cost);
    const perMs = cost / takesMs;
    const isBetter = perMs > best.perMs * (i > 0 ? MIN_GAIN_TO_REJECT_MORE : 1);
    if (isBetter) best = { cost, endsAt: now + takesMs, perMs };
    if (isWithin(feasible, first, rank, cost)) {
      // No item need be excluded if all others can follow in a second batch.
      const next = byDeadline[i + Math.max(1, Math.floor(cost / meanCost))]?.item;
      const restCost = left - cost + beyondCost + arrivingPerMs * takesMs;
      const canFollow = (deadline: number) =>
        restCost <= maxCost && now + takesMs + durationMs(restCost) <= deadline;
      if (isBetter && (next === undefined || canFollow(next.deadline))) break;
      if (cost >= maxCost) break;
    }
    item.isExcluded = true;
    left -= item.cost;
  }
  return selected(view, length, best.cost, best.endsAt, (cost) => now + durationMs(cost));
}

/** Whether an item is in a batch of this cost, which takes the first items that are not excluded. */
function isWithin(
  feasible: readonly { readonly cost: number; readonly isExcluded: boolean }[],
  first: number,
  rank: number,
  batchCost: number,
): boolean {
  let before = 0;
  for (let i = first; i < rank && before < batchCost; i++) {
    const { cost, isExcluded } = feasible[i] as (typeof feasible)[number];
    if (!isExcluded) before += cost;
  }
  return before < batchCost;
}

/** The first items in dispatch order that can wait until `endsAt`, up to a cost, and those before them that cannot. */
function selected(
  view: QueueView,
  length: number,
  maxCost: number,
  endsAt: number,
  aloneEndsAt: (cost: number) => number,
): OnTimeWindow {
  const passed: number[] = [];
  let rejected = 0;
  let count = 0;
  let cost = 0;
  for (let position = 0; position < length; position++) {
    if (view.deadlineAt(position) < Math.max(endsAt, aloneEndsAt(view.costAt(position)))) {
      passed.push(position);
      continue;
    }
    const grown = cost + view.costAt(position);
    if (count > 0 && grown > maxCost * (1 + Number.EPSILON)) break;
    cost = grown;
    count += 1;
    rejected = passed.length;
  }
  return { rejected: passed.slice(0, rejected), count };
}

/** The largest cost up to `most` that takes no longer than `limitMs`; `isWhole` if every item costs 1. */
function largestWithin(limitMs: number, most: number, durationMs: DurationOf, isWhole: boolean): number {
  if (durationMs(most) <= limitMs) return most;
  let low = 0;
  let high = isWhole ? Math.ceil(most) : most;
  while (high - low > (isWhole ? 1 : 1e-3 * high)) {
    const middle = isWhole ? (low + high) >> 1 : (low + high) / 2;
    if (durationMs(middle) <= limitMs) low = middle;
    else high = middle;
  }
  return low || high;
}
