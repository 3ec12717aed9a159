/**
 * Under deadlines, when the head's would cap the batch below what is waiting: which run of the queue to
 * serve. Whoever insists on the head then makes every batch small, and the queue only longer; so the run
 * that gets most done a millisecond in time is served, and what stands before it is let go.
 */
import type { QueueView } from './policy.js';

export interface OnTimeWindow {
  /** How many at the head cannot be served in time any more, or only at too high a price for the others. */
  readonly refuse: number;
  /** How many of those that follow can, together. */
  readonly count: number;
  /** The positions of those in between who cannot, or only at too high a price: of another priority, say, or of a higher cost. */
  readonly hopeless: readonly number[];
}

/** How many are looked at: nobody else may have the thread meanwhile. */
const MOST_LOOKS = 2048;
/** What letting go of the head must gain. */
const LEAST_GAIN = 1.01;

/** How long a batch of a cost is counted to take: as expected, or with a margin for the spread; monotone. */
export type DurationOf = (cost: number) => number;

/** The best run, when `costPerMs` comes besides, among the first of the queue, as many as could be in one batch and stand before it. */
export function bestWindow(
  view: QueueView,
  now: number,
  maxCost: number,
  durationMs: DurationOf,
  costPerMs: number,
  searchPatient = true,
): OnTimeWindow {
  const length = Math.min(view.length, MOST_LOOKS);
  let best: OnTimeWindow = { refuse: 0, count: 0, hopeless: [] };
  let bestPerMs = 0;
  let end = 0;
  let cost = 0;
  /** Positions whose deadline is earlier than of all that follow in the run: the first has the run's earliest. */
  const earliest: number[] = [];
  /** Positions that cannot be served in time even alone, and from which of them on they are in the run. */
  const hopeless: number[] = [];
  let firstHopeless = 0;
  let hopelessCost = 0;
  let latestRefused = Number.NEGATIVE_INFINITY;
  let isServedByTwo = false;
  for (let start = 0; start < length; start++) {
    // A run that begins later never ends earlier, so each position is taken up once.
    for (; end < length; end++) {
      const itemCost = view.costAt(end);
      const deadline = view.deadlineAt(end);
      if (now + durationMs(itemCost) > deadline) {
        hopeless.push(end);
        hopelessCost += itemCost;
        continue;
      }
      const grown = cost + itemCost;
      const runs = Math.min(
        deadline,
        earliest.length > 0 ? view.deadlineAt(earliest[0] as number) : deadline,
      );
      const isTooMuch = grown > maxCost && earliest.length > 0; // one item is never too much
      if (isTooMuch || now + durationMs(grown) > runs) break;
      while (earliest.length > 0 && view.deadlineAt(earliest.at(-1) as number) >= deadline) earliest.pop();
      earliest.push(end);
      cost = grown;
    }
    if (hopeless[firstHopeless] === start) {
      firstHopeless += 1;
      continue;
    }
    const takesMs = durationMs(cost);
    const perMs = cost / takesMs;
    // Who would have had time to be served with them is not let go for them.
    const mayRefuse = latestRefused < now + takesMs;
    if (mayRefuse && perMs > bestPerMs * (best.count > 0 ? LEAST_GAIN : 1)) {
      const inBetween = hopeless.slice(firstHopeless);
      best = { refuse: start, count: end - start - inBetween.length, hopeless: inBetween };
      bestPerMs = perMs;
      const rest = view.cost - cost - hopelessCost + costPerMs * takesMs;
      if (end >= length || (rest <= maxCost && now + takesMs + durationMs(rest) <= view.deadlineAt(end))) {
        isServedByTwo = true;
        break; // all can be served, one batch after the other: nobody need be let go
      }
    }
    if (earliest[0] === start) earliest.shift();
    // Sums of fractions do not come back to nought by themselves.
    cost = earliest.length > 0 ? cost - view.costAt(start) : 0;
    if (end >= length) break;
    latestRefused = Math.max(latestRefused, view.deadlineAt(start));
  }
  // No run at all: all that was looked at cannot be served in time, each of them not even alone.
  if (best.count === 0) return { refuse: length, count: 0, hopeless: [] };
  if (isServedByTwo || !searchPatient) return best;
  const { window, perMs } = ofThePatient(view, now, length, maxCost, durationMs);
  return perMs > bestPerMs * LEAST_GAIN ? window : best;
}

/**
 * The batch of those who have time for as large a one as there could be, and of the others whom it leaves time. Where
 * not all leave in the order of their deadlines, one in a hurry in the midst would keep all behind it from every batch,
 * until they are in a hurry themselves.
 */
function ofThePatient(
  view: QueueView,
  now: number,
  length: number,
  maxCost: number,
  durationMs: DurationOf,
): { window: OnTimeWindow; perMs: number } {
  const isHopeless = (position: number) =>
    now + durationMs(view.costAt(position)) > view.deadlineAt(position);
  let wanted = 0;
  for (let position = 0; position < length && wanted < maxCost; position++) {
    if (!isHopeless(position)) wanted += view.costAt(position);
  }
  const endsAt = now + durationMs(Math.min(wanted, maxCost));
  const hurried: number[] = [];
  let end = 0;
  let cost = 0;
  for (let position = 0; position < length; position++) {
    if (view.deadlineAt(position) < endsAt || isHopeless(position)) hurried.push(position);
    else if (cost + view.costAt(position) > maxCost) break;
    else {
      cost += view.costAt(position);
      end = position + 1;
    }
  }
  const passed = new Set(hurried.filter((position) => position < end));
  for (const position of [...passed].sort((a, b) => view.deadlineAt(b) - view.deadlineAt(a))) {
    const grown = cost + view.costAt(position);
    if (grown > maxCost || now + durationMs(grown) > view.deadlineAt(position)) continue;
    cost = grown;
    passed.delete(position);
  }
  // Those at the head are counted, the others named.
  let refuse = 0;
  while (passed.delete(refuse)) refuse += 1;
  const window = { refuse, count: end - refuse - passed.size, hopeless: [...passed] };
  // Nobody was in the way who would not be let go anyway.
  if (window.hopeless.every(isHopeless)) return { window, perMs: 0 };
  return { window, perMs: cost / durationMs(cost) };
}
