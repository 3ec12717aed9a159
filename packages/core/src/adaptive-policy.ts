/**
 * The default policy: leaves when a slot is free, like `greedy()`, except where it has learned that
 * something else serves its callers better. In the order in which it asks:
 *
 *  1. Deadlines. Can all that waits be served in time? If not, which of it?
 *  2. Sizes that were never tried are tried, a few times.
 *  3. Efficiency, if that is preferred: as late as is safe, so that batches are full.
 *  4. The forecast: is it worth to wait a moment for those who are about to come?
 *  5. The plan: the best size where the backend pads or another slot will be free soon.
 *
 * It knows nothing that it has not seen: until the first batches are back it is greedy.
 */
import { FRESH_MS, safeMs } from './admission.js';
import { ArrivalForecast } from './arrival-forecast.js';
import { ArrivalRate } from './arrival-rate.js';
import { curveSteps } from './curve-steps.js';
import { describe } from './describe.js';
import { DispatchPlanner } from './dispatch-planner.js';
import { reasonToLeave } from './greedy-policy.js';
import { bestWindow } from './on-time-window.js';
import type { CompletedBatch, Decision, Policy, QueueView, Reason } from './policy.js';
import type { CurveEstimate } from './service-curve.js';
import { invalidOption, validKeys } from './valid.js';

export interface AdaptiveOptions {
  /**
   * What counts: that callers wait as little as possible, or that the backend is busy as little as
   * possible while they still get their answers within the target.
   * @default 'latency'
   */
  readonly prefer?: 'latency' | 'efficiency' | undefined;
}

/** How often a size is tried before it counts as known; not before so many batches, and at most once in so many. */
const PROBES = 3;
const FIRST_PROBE = 16;
const PROBE_EVERY = 4;
/** A rise of less than this is none. */
const LEAST_RISE = 0.03;
/** How far above the expected duration a batch may be that starts at the last moment, in spreads. */
const SURE_SPREADS = 2.4;
/** How much of what company saves is counted: a forecast is not a promise. */
const CAUTION = 0.9;
/** How much more it counts to be the one who is left behind than to wait for him. */
const LEFT_BEHIND = 3;
/** Company that saves less than this share of a batch's time is not worth waiting for. */
const LEAST_SAVING = 0.15;
/** A plan is for the traffic of this many arrivals: one for every whim of it would never be ready. */
const PLANNED_ARRIVALS = 512;
/** From so many batches on a queue is long. */
const BACKLOG = 2;
const FADE = 1 / 32;
/** After how many batches it is looked whether the curve has other steps. */
const LOOK_EVERY = 16;

export function adaptive(options: AdaptiveOptions = {}): Policy {
  const { prefer = 'latency' } = validKeys('adaptive(options)', options, ['prefer']);
  if (prefer !== 'latency' && prefer !== 'efficiency') {
    throw invalidOption(`adaptive({ prefer }): expected 'latency' or 'efficiency', got ${describe(prefer)}.`);
  }
  return new AdaptivePolicy(prefer === 'efficiency');
}

class AdaptivePolicy implements Policy {
  readonly name = 'adaptive';
  readonly #savesBackend: boolean;
  readonly #forecast = new ArrivalForecast();
  readonly #planner = new DispatchPlanner();
  readonly #rate = new ArrivalRate(PLANNED_ARRIVALS);
  #meanCost = 1;
  #probeFrom = FIRST_PROBE;
  #knownSteps: readonly number[] = [];
  #stepsUntil = 0;

  constructor(savesBackend: boolean) {
    this.#savesBackend = savesBackend;
  }

  observeArrivals(count: number, at: number): void {
    this.#forecast.arrived(count, at);
    this.#rate.record(count, at);
  }

  observeBatch({ size, cost, callers, durationMs }: CompletedBatch, now: number): void {
    this.#meanCost += (cost / size - this.#meanCost) * FADE;
    this.#forecast.batchEnded(callers, durationMs, now);
  }

  decide(view: QueueView, now: number): Decision {
    const { curve, cost, length } = view;
    if (curve.predict(cost) === undefined) return leave(view, length);
    let latestStart = Number.POSITIVE_INFINITY;
    const { nextDeadline } = view;
    if (nextDeadline !== Number.POSITIVE_INFINITY) {
      const urgent = this.#underDeadlines(view, now);
      if (urgent !== undefined) return urgent;
      // Later than this, one more could not be taken along.
      latestStart = nextDeadline - safeMs(curve, predict(view, cost + this.#meanCost));
    }
    const untried = curve.samples >= this.#probeFrom && !view.isGrouped ? untriedSize(view) : 0;
    if (untried > 0) {
      this.#probeFrom = curve.samples + PROBE_EVERY;
      return leave(view, countWithin(view, untried));
    }
    if (this.#mayBeLate(view)) return this.#asLateAsIsSafe(view, now);
    // Of groups nobody knows who will come: what is known of arrivals is known of all together.
    if (view.isGrouped) return leave(view, this.#allThatPays(view));
    return (
      this.#heldForCompany(view, now, latestStart) ??
      this.#heldUntilFull(view, now, latestStart) ??
      this.#planned(view, now, latestStart) ??
      leave(view, this.#allThatPays(view))
    );
  }

  /** What to do when not all that would make the next batch can be served in time. */
  #underDeadlines(view: QueueView, now: number): Decision | undefined {
    const { curve, limits, cost, length } = view;
    const wanted = Math.min(cost, limits.maxBatchSize);
    // How long larger batches take than any before is a guess: they may grow, but not leap, unless there is time enough.
    const largest = curve.points().at(-1)?.cost ?? wanted;
    const isLeap = wanted > 2 * largest;
    const guess = isLeap ? (predict(view, largest) * wanted) / largest : predict(view, wanted);
    const ends = now + safeMs(curve, guess);
    if (ends <= view.nextDeadline || ends <= earliestDeadline(view)) return undefined;
    const mostCost = isLeap ? 2 * largest : limits.maxBatchSize;
    const safeDuration = (batch: number) => safeMs(curve, predict(view, batch));
    const { refuse, count } = bestWindow(view, now, mostCost, safeDuration, this.#costPerMs(view, now));
    if (count > 0) return { action: 'dispatch', count, reason: 'deadline', refuse };
    // What is not known any more is found out rather than believed.
    if (view.running.length === 0 && now - curve.updatedAt >= FRESH_MS) return leave(view, length);
    return { action: 'wait', until: now + 1, refuse };
  }

  /** Whether to wait until it gets late, for the backend's sake. Of groups, each would be late because of the others. */
  #mayBeLate({ cost, limits, isGrouped }: QueueView): boolean {
    const { maxBatchSize, targetLatencyMs } = limits;
    const hasTarget = targetLatencyMs !== Number.POSITIVE_INFINITY;
    return this.#savesBackend && hasTarget && cost < maxBatchSize && !isGrouped;
  }

  /** For as long as all can still be served in time, and those too who come while they are. */
  #asLateAsIsSafe(view: QueueView, now: number): Decision {
    const { curve, limits, length, cost } = view;
    const deadline = earliestDeadline(view);
    const size = this.#efficientSize(view, now, deadline);
    const takesMs = predict(view, size < cost ? size : cost + this.#meanCost);
    const startBy = deadline - surelyMs(curve, takesMs) - limits.timerResolutionMs;
    const nextCost = Math.min(limits.maxBatchSize, this.#costPerMs(view, now) * takesMs);
    const nextIsSafe = surelyMs(curve, takesMs + predict(view, nextCost)) <= deadline - view.oldestAt;
    if (nextIsSafe && startBy - now >= limits.timerResolutionMs && startBy > now) {
      return { action: 'wait', until: startBy };
    }
    return leave(view, size < cost ? countWithin(view, size) : length, 'deadline');
  }

  /** How much to serve at the latest moment: all, or up to the step where more gets done, if the rest can wait. */
  #efficientSize(view: QueueView, now: number, deadline: number): number {
    const { curve, cost, limits } = view;
    let best = cost;
    for (const step of this.#steps(view)) {
      if (step >= cost) break;
      const takesMs = predict(view, step);
      if (step * predict(view, best) <= best * takesMs) continue;
      const ends = Math.max(now, deadline - surelyMs(curve, takesMs)) + takesMs;
      const left = cost - step;
      const waiting = Math.min(limits.maxBatchSize, left + this.#costPerMs(view, now) * (ends - now));
      const next = Math.max(left, lastUpTo(this.#steps(view), waiting) || waiting);
      if (ends + surelyMs(curve, predict(view, next)) <= view.deadlineAt(countWithin(view, step)))
        best = step;
    }
    return best;
  }

  /**
   * All that waits; but of a long queue only as much as gets most done a millisecond. Where large batches
   * are slower an item, a queue that leaves all at once would only grow.
   */
  #allThatPays(view: QueueView): number {
    const { cost, length, limits } = view;
    let quickest = limits.maxBatchSize;
    for (const step of this.#steps(view)) {
      if (step * predict(view, quickest) > quickest * predict(view, step)) quickest = step;
    }
    return cost >= BACKLOG * quickest ? countWithin(view, quickest) : length;
  }

  #steps({ curve, limits }: QueueView): readonly number[] {
    if (curve.samples >= this.#stepsUntil) {
      this.#knownSteps = curveSteps(curve, limits);
      this.#stepsUntil = curve.samples + LOOK_EVERY;
    }
    return this.#knownSteps;
  }

  #planned(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const advice = this.#planner.advice(view, this.#rate.ratePerMs(now) * this.#meanCost, now);
    if (advice === undefined) return undefined;
    if (advice.cost > 0)
      return advice.cost >= view.cost ? undefined : leave(view, countWithin(view, advice.cost));
    const { timerResolutionMs } = view.limits;
    const leftMs = Math.min(latestStart - now, predict(view, this.#meanCost) - heldMs(view, now));
    const waitMs = Math.min(advice.waitMs, leftMs);
    if (leftMs <= timerResolutionMs || waitMs < timerResolutionMs / 2) return leave(view, view.length);
    return { action: 'wait', until: now + Math.max(waitMs, timerResolutionMs) };
  }

  /** A short wait when those who are about to come save more than those who are here lose. */
  #heldForCompany(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const { cost, length, limits } = view;
    if (cost >= limits.maxBatchSize) return undefined;
    const fixedMs = fixedPartMs(view, this.#meanCost);
    const leftMs = Math.min(fixedMs - heldMs(view, now), latestStart - now);
    if (leftMs <= 0) return undefined;
    const usualPerMs = view.arrivals.ratePerMs(now);
    const forecast = this.#forecast.best(now, limits.timerResolutionMs, leftMs, usualPerMs);
    if (forecast === undefined) return undefined;
    const { expected, horizonMs, areReturning } = forecast;
    const company = Math.min(expected * this.#meanCost, limits.maxBatchSize - cost);
    const savesMs = predict(view, cost) + predict(view, company) - predict(view, cost + company);
    if (savesMs < LEAST_SAVING * predict(view, cost)) return undefined;
    // Who is left behind by his own crowd waits for all of it, unless another slot is free.
    const lossMs = areReturning && view.slots === 1 ? LEFT_BEHIND * predict(view, cost) : CAUTION * savesMs;
    return expected * lossMs > length * horizonMs ? { action: 'wait', until: now + horizonMs } : undefined;
  }

  /** In overload, when those who are missing come sooner than the backend can do without them. */
  #heldUntilFull(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const { cost, slots, limits } = view;
    const { maxBatchSize, timerResolutionMs } = limits;
    if (cost >= maxBatchSize) return undefined;
    const costPerMs = this.#costPerMs(view, now);
    const isOverloaded = costPerMs * predict(view, maxBatchSize) > slots * maxBatchSize;
    const fixedMs = fixedPartMs(view, this.#meanCost);
    // A batch that is short by a share of its size wastes that share of its fixed time.
    if (!isOverloaded || costPerMs * fixedMs < maxBatchSize) return undefined;
    const fullAfterMs = Math.max(timerResolutionMs, (maxBatchSize - cost) / costPerMs);
    const leftMs = Math.min(fixedMs - heldMs(view, now), latestStart - now);
    return fullAfterMs < leftMs ? { action: 'wait', until: now + fullAfterMs } : undefined;
  }

  #costPerMs(view: QueueView, now: number): number {
    return view.arrivals.ratePerMs(now) * this.#meanCost;
  }
}

function leave(view: QueueView, count: number, reason?: Reason): Decision {
  const { length, cost, limits, waitingElsewhere } = view;
  const isCut = count < length && cost < limits.maxBatchSize;
  return {
    action: 'dispatch',
    count,
    reason: reason ?? reasonToLeave(isCut ? 0 : cost, limits.maxBatchSize, waitingElsewhere),
  };
}

/** What to count on when nothing is left in reserve: who starts at the last moment must not be late for one slow batch in twenty. */
function surelyMs({ spread }: CurveEstimate, expectedMs: number): number {
  return expectedMs * (1 + SURE_SPREADS * spread);
}

/** Of those who could be in the next batch. */
function earliestDeadline(view: QueueView): number {
  return view.earliestDeadline(Math.min(view.length, view.limits.maxBatchSize));
}

function predict({ curve }: QueueView, cost: number): number {
  return curve.predict(cost) as number;
}

/** For how long those who wait could have left. */
function heldMs({ oldestAt, freeSince }: QueueView, now: number): number {
  return now - Math.max(oldestAt, freeSince);
}

/** The largest size to learn below what waits that has hardly been tried and might be a step; 0 when there is none. */
function untriedSize({ cost, curve, limits }: QueueView): number {
  const most = Math.min(cost, limits.maxBatchSize);
  if (limits.batchSizes.length > 0) return ifUntried(lastUpTo(limits.batchSizes, most), cost, curve);
  // Backends pad to powers of two, or to multiples of eight.
  const power = ifUntried(2 ** Math.floor(Math.log2(most)), cost, curve);
  if (power > 0 || most < 16) return power;
  const multiple = ifUntried(8 * Math.floor(most / 8), cost, curve);
  return multiple > 0 && mayBeStep(multiple, curve) ? multiple : 0;
}

function ifUntried(size: number, cost: number, curve: CurveEstimate): number {
  return size >= 1 && size < cost && curve.weightOf(size) < PROBES ? size : 0;
}

/** Between a smaller and a larger size that take as long, there is none. */
function mayBeStep(size: number, curve: CurveEstimate): boolean {
  let below = 0;
  for (const { cost, durationMs } of curve.points()) {
    if (cost < size) below = durationMs;
    else if (cost > size) return durationMs > below * (1 + LEAST_RISE);
  }
  return true;
}

function lastUpTo(sizes: readonly number[], most: number): number {
  let last = 0;
  for (const size of sizes) if (size <= most) last = size;
  return last;
}

/** How much of a batch's time does not depend on its size. */
function fixedPartMs(view: QueueView, unit: number): number {
  const largest = view.curve.points().at(-1);
  if (largest === undefined || largest.cost <= unit) return 0;
  const aloneMs = predict(view, unit);
  return Math.max(0, aloneMs - ((largest.durationMs - aloneMs) * unit) / (largest.cost - unit));
}

/** How many of the first together cost no more than this; one at least. */
function countWithin(view: QueueView, cost: number): number {
  if (view.cost === view.length) return Math.max(1, Math.floor(cost));
  let sum = view.costAt(0);
  let count = 1;
  while (count < view.length && sum + view.costAt(count) <= cost) sum += view.costAt(count++);
  return count;
}
