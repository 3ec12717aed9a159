/**
 * To save the backend: batches that start at the last moment at which all are still in time have grown
 * as large as they can, and there are as few of them as possible.
 */

import type { QueueView } from './policy.js';
import { countWithin, earliestDeadline, lastUpTo, predict } from './view-questions.js';

export interface Traffic {
  readonly meanCost: number;
  readonly costPerMs: number;
  /** How long the backend has been busy for each unit of cost, lately. */
  readonly busyPerCost: number;
  /** Where the curve has steps. */
  readonly steps: readonly number[];
}

/** When to start, and with how many if that is now. */
export interface LatestStart {
  readonly at: number;
  readonly count: number;
}

/** What sums of times are off by, at the most: a batch that starts at the last moment is not late by that. */
const ROUNDING_MS = 1e-6;
/** How many answers may be late because a batch that starts at the last moment takes longer than expected. */
const MOST_LATE = 0.0025;
/** How much of what comes within a spread of a batch's duration is late, too, when its first item is. */
const LATE_WITH_IT = 0.45;

/** Whether there is something to be late for. Of groups, each would be late because of the others. */
export function mayBeLate({ limits, isGrouped }: QueueView): boolean {
  return limits.targetLatencyMs !== Number.POSITIVE_INFINITY && !isGrouped;
}

/** For as long as all can still be served in time, and those too who come while they are. */
export function latestStart(view: QueueView, now: number, traffic: Traffic): LatestStart {
  const { limits, length, cost } = view;
  const { maxBatchSize, timerResolutionMs } = limits;
  const deadline = earliestDeadline(view);
  const size = cheapestSize(view, now, deadline, traffic);
  const takesMs = predict(view, size < cost ? size : cost + traffic.meanCost);
  const reserveMs = marginMs(view, takesMs, traffic, deadline) + timerResolutionMs + ROUNDING_MS;
  const nextMs = predict(view, Math.min(maxBatchSize, traffic.costPerMs * takesMs));
  // That both take longer than expected is less likely than that one does.
  const bothMarginMs = marginMs(view, Math.hypot(takesMs, nextMs), traffic, deadline);
  const nextIsSafe = takesMs + nextMs + bothMarginMs <= deadline - view.oldestAt;
  const at = wholeSteps(deadline - takesMs - reserveMs, timerResolutionMs);
  if (nextIsSafe && at - now >= timerResolutionMs && at > now) return { at, count: 0 };
  return { at: now, count: size < cost ? countWithin(view, size) : length };
}

/**
 * How much to serve at the latest moment: all, or up to the step where the backend is busy least in the long run, if
 * the rest can wait. The rest costs what it adds to the next batch; and that one leaves the earlier the longer its first
 * has waited, so that others do not come along who each need a batch's fixed part anew.
 */
function cheapestSize(view: QueueView, now: number, deadline: number, traffic: Traffic): number {
  const { cost, limits } = view;
  const { maxBatchSize, targetLatencyMs } = limits;
  const { steps, meanCost, costPerMs, busyPerCost } = traffic;
  let best = cost;
  let leastMs = predict(view, best);
  const leavesAt = Math.max(now, deadline - leastMs);
  const addsPerCost = addedPerCost(view, traffic);
  const fixedPerCost = Math.max(0, busyPerCost - addsPerCost);
  for (const step of steps) {
    if (step >= cost) break;
    if (view.costAt(0) > step) continue;
    const takesMs = predict(view, step);
    const left = cost - step;
    const from = countWithin(view, step);
    const latest = deadlineOfRest(view, from);
    const waitedMs = Math.max(0, leavesAt - (latest - targetLatencyMs));
    const restMs = left * addsPerCost + (meanCost + costPerMs * waitedMs) * fixedPerCost;
    if (takesMs + restMs >= leastMs) continue;
    const ends = Math.max(now + takesMs, deadline - marginMs(view, takesMs, traffic, deadline));
    const waiting = Math.min(maxBatchSize, left + costPerMs * (ends - now));
    const next = Math.max(left, lastUpTo(steps, waiting) || waiting);
    const nextMs = predict(view, next);
    if (ends + nextMs + marginMs(view, nextMs, traffic, latest, from) > latest) continue;
    best = step;
    leastMs = takesMs + restMs;
  }
  return best;
}

/** How much longer a batch takes for each that is added, over the steps: within one it is nothing, past it much. */
function addedPerCost(view: QueueView, { steps, meanCost }: Traffic): number {
  const first = steps.length > 1 ? (steps[0] as number) : meanCost;
  const last = steps.at(-1) ?? meanCost;
  return last > first ? (predict(view, last) - predict(view, first)) / (last - first) : 0;
}

/** Down to the step of a timer: with each that comes the start moves a little, and no timer need move with it. */
function wholeSteps(at: number, stepMs: number): number {
  return stepMs > 0 ? stepMs * Math.floor(at / stepMs) : at;
}

/** The earliest of those who would be left for the batch after; nobody may be left out of a batch that is one item. */
function deadlineOfRest(view: QueueView, from: number): number {
  if (from >= view.length) return Number.NEGATIVE_INFINITY;
  let earliest = Number.POSITIVE_INFINITY;
  for (let position = from; position < view.length; position++) {
    earliest = Math.min(earliest, view.deadlineAt(position));
  }
  return earliest;
}

/**
 * What to leave in reserve: so much that, of all who leave, hardly any are late. A batch that takes longer makes
 * its first item late, and of the others those who came soon after it; among many that is less than among few. Who came
 * together is late together: of a burst, all.
 */
function marginMs(
  view: QueueView,
  takesMs: number,
  { meanCost, costPerMs }: Traffic,
  deadline: number,
  from = 0,
): number {
  const spreadMs = view.curve.spread * takesMs;
  if (spreadMs === 0) return 0;
  const soonMs = LATE_WITH_IT * spreadMs;
  const lateWithIt = Math.max(1 + (soonMs * costPerMs) / meanCost, countUntil(view, from, deadline + soonMs));
  return spreadMs * spreadsFor((MOST_LATE * view.cost) / meanCost / lateWithIt);
}

/** How many in a row, from a position on, are due by then. */
function countUntil(view: QueueView, from: number, until: number): number {
  let position = from;
  while (position < view.length && view.deadlineAt(position) <= until) position += 1;
  return position - from;
}

/** How many spreads above its mean a duration is no more often than this (Hastings). */
function spreadsFor(share: number): number {
  if (share >= 0.5) return 0;
  const t = Math.sqrt(-2 * Math.log(share));
  return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t);
}
