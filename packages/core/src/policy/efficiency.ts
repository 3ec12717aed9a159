/**
 * Efficiency mode: a batch that starts at the last moment at which all its items are still in time has grown as large as
 * it can, and the backend runs as few batches as possible.
 */
import { ROUNDING_MS } from '../time/clock.js';
import { countWithin, earliestDeadline, type LearnedView } from './next-batch.js';
import type { QueueView } from './policy.js';

/** When to start, and with how many items if that is now. */
interface LatestStart {
  readonly at: number;
  readonly count: number;
}

/** The reserve before a deadline, in standard deviations: some 1 answer in 1000 is late, with noise of 5 %. */
const MARGIN_DEVIATIONS = 2.5;

/** Whether there is a target to use up. With groups, one would be late because of another. */
export function mayBeLate({ limits, isGrouped }: QueueView): boolean {
  return limits.targetLatencyMs !== Number.POSITIVE_INFINITY && !isGrouped;
}

/** The latest start at which all queued items, and those that arrive until the batch ends, can be served in time. */
export function latestStart(view: LearnedView, now: number): LatestStart {
  const { limits, length, cost, traffic, curve } = view;
  const { maxBatchSize, timerResolutionMs } = limits;
  const arrivingPerMs = traffic.costPerMs(now);
  const deadline = earliestDeadline(view);
  const size = cheapestSize(view, now, deadline, arrivingPerMs);
  const takesMs = curve.mean(size < cost ? size : cost + traffic.meanCost);
  const reserveMs = marginMs(view, takesMs) + timerResolutionMs + ROUNDING_MS;
  const nextMs = curve.mean(Math.min(maxBatchSize, arrivingPerMs * takesMs));
  // That both batches take longer than expected is less likely than that one does.
  const bothMarginMs = marginMs(view, Math.hypot(takesMs, nextMs));
  const nextIsSafe = takesMs + nextMs + bothMarginMs <= deadline - view.oldestAt;
  const latest = deadline - takesMs - reserveMs;
  // With every arrival the start moves a little: whole steps of the timer save setting it again each time.
  const at = timerResolutionMs > 0 ? timerResolutionMs * Math.floor(latest / timerResolutionMs) : latest;
  if (nextIsSafe && at - now >= timerResolutionMs && at > now) return { at, count: 0 };
  return { at: now, count: size < cost ? countWithin(view, size) : length };
}

/**
 * All queued items, or the step at which the backend is busy least in the long run, if the others can wait. They cost
 * what they add to the next batch, and that batch starts the earlier the longer its first item has waited.
 */
function cheapestSize(view: LearnedView, now: number, deadline: number, arrivingPerMs: number): number {
  const { cost, limits, curve } = view;
  const { maxBatchSize, targetLatencyMs } = limits;
  const { meanCost } = view.traffic;
  const steps = curve.steps(maxBatchSize);
  let best = cost;
  let leastMs = curve.mean(best);
  const startsAt = Math.max(now, deadline - leastMs);
  const addsPerCost = addedPerCost(view, steps);
  const fixedPerCost = Math.max(0, (view.traffic.busyMsPerCost || leastMs / cost) - addsPerCost);
  for (const step of steps) {
    if (step >= cost) break;
    if (view.costAt(0) > step) continue;
    const takesMs = curve.mean(step);
    const left = cost - step;
    const from = countWithin(view, step);
    const latest = deadlineOfRest(view, from);
    const waitedMs = Math.max(0, startsAt - (latest - targetLatencyMs));
    const restMs = left * addsPerCost + (meanCost + arrivingPerMs * waitedMs) * fixedPerCost;
    if (takesMs + restMs >= leastMs) continue;
    const ends = Math.max(now + takesMs, deadline - marginMs(view, takesMs));
    const queued = Math.min(maxBatchSize, left + arrivingPerMs * (ends - now));
    const next = Math.max(left, steps.findLast((size) => size <= queued) ?? queued);
    const nextMs = curve.mean(next);
    if (ends + nextMs + marginMs(view, nextMs) > latest) continue;
    best = step;
    leastMs = takesMs + restMs;
  }
  return best;
}

/** The slope of the curve over its steps. */
function addedPerCost(view: LearnedView, steps: readonly number[]): number {
  const { meanCost } = view.traffic;
  const first = steps.length > 1 ? (steps[0] as number) : meanCost;
  const last = steps.at(-1) ?? meanCost;
  return last > first ? (view.curve.mean(last) - view.curve.mean(first)) / (last - first) : 0;
}

/** The earliest deadline from a position on; −Infinity if there is no item left. */
function deadlineOfRest(view: QueueView, from: number): number {
  if (from >= view.length) return Number.NEGATIVE_INFINITY;
  let earliest = Number.POSITIVE_INFINITY;
  for (let position = from; position < view.length; position++) {
    earliest = Math.min(earliest, view.deadlineAt(position));
  }
  return earliest;
}

/** The reserve before a deadline for a batch that takes longer than expected. */
function marginMs({ curve }: LearnedView, takesMs: number): number {
  return MARGIN_DEVIATIONS * curve.variation * takesMs;
}
