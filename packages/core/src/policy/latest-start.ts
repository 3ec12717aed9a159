/**
 * To save the backend: batches that start at the last moment at which all are still in time have grown
 * as large as they can, and there are as few of them as possible.
 */

import type { CurveEstimate } from '../learning/service-curve.js';
import type { QueueView } from './policy.js';
import { countWithin, earliestDeadline, lastUpTo, predict } from './view-questions.js';

export interface Traffic {
  readonly meanCost: number;
  readonly costPerMs: number;
  /** Where the curve has steps. */
  readonly steps: readonly number[];
}

/** When to start, and with how many if that is now. */
export interface LatestStart {
  readonly at: number;
  readonly count: number;
}

/** How far above the expected duration a batch may be that starts at the last moment, in spreads. */
const SURE_SPREADS = 2.4;

/** Whether there is something to be late for. Of groups, each would be late because of the others. */
export function mayBeLate({ cost, limits, isGrouped }: QueueView): boolean {
  const { maxBatchSize, targetLatencyMs } = limits;
  return targetLatencyMs !== Number.POSITIVE_INFINITY && cost < maxBatchSize && !isGrouped;
}

/** For as long as all can still be served in time, and those too who come while they are. */
export function latestStart(view: QueueView, now: number, traffic: Traffic): LatestStart {
  const { curve, limits, length, cost } = view;
  const deadline = earliestDeadline(view);
  const size = efficientSize(view, now, deadline, traffic);
  const takesMs = predict(view, size < cost ? size : cost + traffic.meanCost);
  const startBy = deadline - surelyMs(curve, takesMs) - limits.timerResolutionMs;
  const nextCost = Math.min(limits.maxBatchSize, traffic.costPerMs * takesMs);
  const nextIsSafe = surelyMs(curve, takesMs + predict(view, nextCost)) <= deadline - view.oldestAt;
  const at = wholeSteps(startBy, limits.timerResolutionMs);
  if (nextIsSafe && at - now >= limits.timerResolutionMs && at > now) return { at, count: 0 };
  return { at: now, count: size < cost ? countWithin(view, size) : length };
}

/** How much to serve at the latest moment: all, or up to the step where more gets done, if the rest can wait. */
function efficientSize(view: QueueView, now: number, deadline: number, traffic: Traffic): number {
  const { curve, cost, limits } = view;
  let best = cost;
  for (const step of traffic.steps) {
    if (step >= cost) break;
    if (view.costAt(0) > step) continue;
    const takesMs = predict(view, step);
    if (step * predict(view, best) <= best * takesMs) continue;
    const ends = Math.max(now, deadline - surelyMs(curve, takesMs)) + takesMs;
    const left = cost - step;
    const waiting = Math.min(limits.maxBatchSize, left + traffic.costPerMs * (ends - now));
    const next = Math.max(left, lastUpTo(traffic.steps, waiting) || waiting);
    if (ends + surelyMs(curve, predict(view, next)) <= deadlineOfRest(view, countWithin(view, step)))
      best = step;
  }
  return best;
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

/** What to count on when nothing is left in reserve: who starts at the last moment must not be late for one slow batch in twenty. */
function surelyMs({ spread }: CurveEstimate, expectedMs: number): number {
  return expectedMs * (1 + SURE_SPREADS * spread);
}
