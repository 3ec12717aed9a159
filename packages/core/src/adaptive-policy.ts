/**
 * The default policy: leaves when a slot is free, like `greedy()`, except where it has learned that
 * something else serves its callers better. In the order in which it asks:
 *
 *  1. Deadlines. Can all that waits be served in time? If not, which of it?
 *  2. Sizes that were never tried are tried, a few times.
 *  3. Efficiency, if that is preferred: as late as is safe, so that batches are full.
 *  4. The plan: the best size where the backend pads or a second slot will be free soon.
 *  5. The forecast: is it worth to wait a moment for those who are about to come?
 *
 * It knows nothing that it has not seen: until the first batches are back it is greedy.
 */
import { FRESH_MS, safeMs } from './admission.js';
import { ArrivalForecast } from './arrival-forecast.js';
import { describe } from './describe.js';
import { DispatchPlanner } from './dispatch-planner.js';
import { reasonToLeave } from './greedy-policy.js';
import { bestWindow } from './on-time-window.js';
import type { CompletedBatch, Decision, Policy, QueueView, Reason } from './policy.js';
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
/** A forecast this much above the usual rate is a burst. */
const BURST = 2;
/** How much of what company saves is counted: a forecast is not a promise. */
const CAUTION = 0.9;
/** Where less of a small batch's time is fixed, company saves too little to wait for. */
const LEAST_FIXED_PART = 0.05;
const FADE = 1 / 32;

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
  #meanCost = 1;
  #probeFrom = FIRST_PROBE;

  constructor(savesBackend: boolean) {
    this.#savesBackend = savesBackend;
  }

  observeArrivals(count: number, at: number): void {
    this.#forecast.arrived(count, at);
  }

  observeBatch({ size, cost, callers, durationMs }: CompletedBatch, now: number): void {
    this.#meanCost += (cost / size - this.#meanCost) * FADE;
    this.#forecast.batchEnded(callers, durationMs, now);
  }

  decide(view: QueueView, now: number): Decision {
    const { curve, limits, cost, length } = view;
    if (curve.samples === 0 && curve.predict(cost) === undefined) return leave(view, length);
    let latestStart = Number.POSITIVE_INFINITY;
    if (view.hasDeadlines) {
      const urgent = this.#underDeadlines(view, now);
      if (urgent !== undefined) return urgent;
      // Later than this, one more could not be taken along.
      latestStart = view.earliestDeadline(length) - safeMs(curve, predict(view, cost + this.#meanCost));
    }
    const untried = curve.samples >= this.#probeFrom && !view.isGrouped ? untriedSize(view) : 0;
    if (untried > 0) {
      this.#probeFrom = curve.samples + PROBE_EVERY;
      return leave(view, countWithin(view, untried));
    }
    if (this.#savesBackend && latestStart !== Number.POSITIVE_INFINITY && cost < limits.maxBatchSize) {
      return this.#asLateAsIsSafe(view, now, latestStart);
    }
    // Of groups nobody knows who will come: what is known of arrivals is known of all together.
    if (view.isGrouped) return leave(view, length);
    return (
      this.#planned(view, now, latestStart) ??
      this.#heldForCompany(view, now, latestStart) ??
      leave(view, length)
    );
  }

  /** What to do when not all that would make the next batch can be served in time. */
  #underDeadlines(view: QueueView, now: number): Decision | undefined {
    const { curve, limits, cost, length } = view;
    // How long larger batches take than any before is a guess: they may grow, but not leap.
    const mostCost = Math.min(limits.maxBatchSize, 2 * (curve.points().at(-1)?.cost ?? cost));
    const wanted = Math.min(cost, limits.maxBatchSize);
    if (wanted <= mostCost && now + safeMs(curve, predict(view, wanted)) <= view.deadlineAt(0))
      return undefined;
    const { refuse, count } = bestWindow(view, now, mostCost, (batch) => safeMs(curve, predict(view, batch)));
    if (count > 0) return { action: 'dispatch', count, reason: 'deadline', refuse };
    // What is not known any more is found out rather than believed.
    if (view.running.length === 0 && now - curve.updatedAt >= FRESH_MS) return leave(view, length);
    return { action: 'wait', until: now + 1, refuse };
  }

  /** For as long as all can still be served in time, and those too who come while they are. */
  #asLateAsIsSafe(view: QueueView, now: number, latestStart: number): Decision {
    const { curve, limits, length, cost } = view;
    const until = latestStart - limits.timerResolutionMs;
    const allowedMs = view.earliestDeadline(length) - view.oldestAt;
    const takesMs = predict(view, cost + this.#meanCost);
    const nextCost = Math.min(limits.maxBatchSize, this.#costPerMs(view, now) * takesMs);
    const nextIsSafe = safeMs(curve, takesMs + predict(view, nextCost)) <= allowedMs;
    if (nextIsSafe && until > now) return { action: 'wait', until };
    return leave(view, length, 'deadline');
  }

  #planned(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const advice = this.#planner.advice(view, this.#costPerMs(view, now), now);
    if (advice === undefined) return undefined;
    if (advice.cost > 0)
      return advice.cost >= view.cost ? undefined : leave(view, countWithin(view, advice.cost));
    const { timerResolutionMs } = view.limits;
    const leftMs = Math.min(latestStart - now, predict(view, this.#meanCost) - heldMs(view, now));
    const waitMs = Math.min(advice.waitMs, leftMs);
    if (leftMs <= 0 || waitMs < timerResolutionMs / 2) return leave(view, view.length);
    return { action: 'wait', until: now + waitMs };
  }

  /** A short wait when those who are about to come save more than those who are here lose. */
  #heldForCompany(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const { cost, length, limits } = view;
    if (cost >= limits.maxBatchSize) return undefined;
    const fixedMs = fixedPartMs(view, this.#meanCost);
    if (fixedMs < LEAST_FIXED_PART * predict(view, cost)) return undefined;
    const leftMs = Math.min(fixedMs - heldMs(view, now), latestStart - now);
    if (leftMs <= 0) return undefined;
    const { expected, horizonMs } = this.#forecast.best(now, limits.timerResolutionMs, leftMs);
    if (expected === 0) return undefined;
    const perMs = expected / horizonMs;
    const isBurst = perMs > BURST * view.arrivals.ratePerMs(now);
    // What comes as usual is worth a wait only where no other slot could take it.
    if (!isBurst && view.slots > 1) return undefined;
    const company = Math.min(expected * this.#meanCost, limits.maxBatchSize - cost);
    const savesMs = isBurst
      ? CAUTION * (predict(view, cost) + predict(view, company) - predict(view, cost + company))
      : fixedMs / 2;
    return perMs * savesMs > length ? { action: 'wait', until: now + horizonMs } : undefined;
  }

  #costPerMs(view: QueueView, now: number): number {
    return view.arrivals.ratePerMs(now) * this.#meanCost;
  }
}

function leave(view: QueueView, count: number, reason?: Reason): Decision {
  const { cost, limits, waitingElsewhere } = view;
  return {
    action: 'dispatch',
    count,
    reason: reason ?? reasonToLeave(cost, limits.maxBatchSize, waitingElsewhere),
  };
}

function predict({ curve }: QueueView, cost: number): number {
  return curve.predict(cost) as number;
}

/** For how long those who wait could have left. */
function heldMs({ oldestAt, freeSince }: QueueView, now: number): number {
  return now - Math.max(oldestAt, freeSince);
}

/** The largest size to learn below what waits that has hardly been tried; 0 when all have. */
function untriedSize({ cost, curve, limits }: QueueView): number {
  const most = Math.min(cost, limits.maxBatchSize);
  const size =
    limits.batchSizes.length > 0 ? lastUpTo(limits.batchSizes, most) : 2 ** Math.floor(Math.log2(most));
  return size >= 1 && size < cost && curve.weightOf(size) < PROBES ? size : 0;
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
