/**
 * Efficiency mode: a batch that starts at the last moment at which all its items are still in time has grown as large as
 * it can, and the backend runs as few batches as possible.
 */
import { ROUNDING_MS } from '../time/clock.js';
import { countWithin, durationMs, earliestDeadline } from './next-batch.js';
import type { QueueView } from './policy.js';

/** When to start, and with how many items if that is now. */
interface LatestStart {
  readonly at: number;
  readonly count: number;
}

/** The share of answers that may be late because a batch that starts at the last moment takes longer than expected. */
const MOST_LATE = 0.0025;
/** The share of a standard deviation within which further items are late together with the first. */
const LATE_WITH_IT = 0.45;

/** Whether there is a target to use up. With groups, one would be late because of another. */
export function mayBeLate({ limits, isGrouped }: QueueView): boolean {
  return limits.targetLatencyMs !== Number.POSITIVE_INFINITY && !isGrouped;
}

/** The latest start at which all queued items, and those that arrive until the batch ends, can be served in time. */
export function latestStart(view: QueueView, now: number): LatestStart {
  const { limits, length, cost, traffic } = view;
  const { maxBatchSize, timerResolutionMs } = limits;
  const arrivingPerMs = traffic.costPerMs(now);
  const deadline = earliestDeadline(view);
  const size = cheapestSize(view, now, deadline, arrivingPerMs);
  const takesMs = durationMs(view, size < cost ? size : cost + traffic.meanCost);
  const reserveMs = marginMs(view, takesMs, arrivingPerMs, deadline) + timerResolutionMs + ROUNDING_MS;
  const nextMs = durationMs(view, Math.min(maxBatchSize, arrivingPerMs * takesMs));
  // That both batches take longer than expected is less likely than that one does.
  const bothMarginMs = marginMs(view, Math.hypot(takesMs, nextMs), arrivingPerMs, deadline);
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
function cheapestSize(view: QueueView, now: number, deadline: number, arrivingPerMs: number): number {
  const { cost, limits, curve } = view;
  const { maxBatchSize, targetLatencyMs } = limits;
  const { meanCost } = view.traffic;
  const steps = curve.steps(maxBatchSize);
  let best = cost;
  let leastMs = durationMs(view, best);
  const startsAt = Math.max(now, deadline - leastMs);
  const addsPerCost = addedPerCost(view, steps);
  const fixedPerCost = Math.max(0, (view.traffic.busyMsPerCost || leastMs / cost) - addsPerCost);
  for (const step of steps) {
    if (step >= cost) break;
    if (view.costAt(0) > step) continue;
    const takesMs = durationMs(view, step);
    const left = cost - step;
    const from = countWithin(view, step);
    const latest = deadlineOfRest(view, from);
    const waitedMs = Math.max(0, startsAt - (latest - targetLatencyMs));
    const restMs = left * addsPerCost + (meanCost + arrivingPerMs * waitedMs) * fixedPerCost;
    if (takesMs + restMs >= leastMs) continue;
    const ends = Math.max(now + takesMs, deadline - marginMs(view, takesMs, arrivingPerMs, deadline));
    const queued = Math.min(maxBatchSize, left + arrivingPerMs * (ends - now));
    const next = Math.max(left, steps.findLast((size) => size <= queued) ?? queued);
    const nextMs = durationMs(view, next);
    if (ends + nextMs + marginMs(view, nextMs, arrivingPerMs, latest, from) > latest) continue;
    best = step;
    leastMs = takesMs + restMs;
  }
  return best;
}

/** The slope of the curve over its steps. */
function addedPerCost(view: QueueView, steps: readonly number[]): number {
  const { meanCost } = view.traffic;
  const first = steps.length > 1 ? (steps[0] as number) : meanCost;
  const last = steps.at(-1) ?? meanCost;
  return last > first ? (durationMs(view, last) - durationMs(view, first)) / (last - first) : 0;
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

/**
 * The reserve before a deadline so that only a small share of answers is late. A batch that takes longer than expected
 * makes its first item late, and those that arrived soon after it; of a burst, all.
 */
function marginMs(
  view: QueueView,
  takesMs: number,
  arrivingPerMs: number,
  deadline: number,
  from = 0,
): number {
  const deviationMs = view.curve.variation * takesMs;
  if (deviationMs === 0) return 0;
  const soonMs = LATE_WITH_IT * deviationMs;
  const { meanCost } = view.traffic;
  let position = from;
  while (position < view.length && view.deadlineAt(position) <= deadline + soonMs) position += 1;
  const lateWithIt = Math.max(1 + (soonMs * arrivingPerMs) / meanCost, position - from);
  return deviationMs * normalQuantile((MOST_LATE * view.cost) / meanCost / lateWithIt);
}

/** The standard deviations above the mean that a normal variable exceeds with this probability (Hastings 1955). */
function normalQuantile(share: number): number {
  if (share >= 0.5) return 0;
  const t = Math.sqrt(-2 * Math.log(share));
  return t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t);
}
