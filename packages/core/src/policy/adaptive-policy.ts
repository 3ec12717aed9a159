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

import { describe } from '../errors/describe.js';
import { invalidOption, validKeys } from '../errors/valid.js';
import { ArrivalRate } from '../learning/arrival-rate.js';
import { FRESH_MS, isColdStart, safeMs } from '../learning/trust.js';
import { ArrivalForecast } from './arrival-forecast.js';
import { curveSteps, quickestSize } from './curve-steps.js';
import { reasonToLeave } from './greedy-policy.js';
import { boldlyMs, leapTo } from './growth.js';
import { latestStart as latestStartOf, mayBeLate } from './latest-start.js';
import { bestWindow } from './on-time-window.js';
import { DispatchPlanner, MOST_SPREAD } from './plan/dispatch-planner.js';
import type { CompletedBatch, Decision, Policy, QueueView, Reason } from './policy.js';
import { Probing, quickestOrAbove } from './probing.js';
import type { Rule } from './rules.js';
import {
  costOf,
  countWithin,
  earliestDeadline,
  fixedPartMs,
  heldMs,
  lastUpTo,
  predict,
} from './view-questions.js';
import { waitUntilFuller } from './wait-until-fuller.js';

export interface AdaptiveOptions {
  /**
   * What counts: that callers wait as little as possible, or that the backend is busy as little as
   * possible while they still get their answers within the target.
   * @default 'latency'
   */
  readonly prefer?: 'latency' | 'efficiency' | undefined;
}

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
/** How much more than can be served must come for it to be no whim of the traffic. */
const SURE_OVERLOAD = 1.1;
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

/** For the arena: the policy for latency without some of its rules. */
export function adaptiveWithout(...rules: readonly Rule[]): Policy {
  return new AdaptivePolicy(false, rules);
}

class AdaptivePolicy implements Policy {
  readonly name = 'adaptive';
  readonly #savesBackend: boolean;
  readonly #forecast = new ArrivalForecast();
  readonly #removed: readonly Rule[];
  #planner: DispatchPlanner;
  #probing = new Probing();
  readonly #rate = new ArrivalRate(PLANNED_ARRIVALS);
  #meanCost = 1;
  /** Of a batch, on average. */
  #busyMs = 0;
  #busyCost = 0;
  #knownSteps: readonly number[] = [];
  #quickest = Number.POSITIVE_INFINITY;
  #quickestAt = Number.NaN;
  #quickestUpTo = Number.NaN;
  #lookAt = 0;
  /** How many batches the curve had seen when it was last looked at. */
  #samples = 0;
  /** Any number of batches may run and nobody is in a hurry: no batch is ever in another's way. */
  #isUnlimited = false;

  constructor(savesBackend: boolean, removed: readonly Rule[] = []) {
    this.#savesBackend = savesBackend;
    this.#removed = removed;
    this.#planner = new DispatchPlanner(this.#has('evenly spread'));
  }

  #has(rule: Rule): boolean {
    return !this.#removed.includes(rule);
  }

  observeArrivals(count: number, at: number): void {
    if (this.#isUnlimited) return;
    this.#forecast.arrived(count, at);
    this.#rate.record(count, at);
  }

  observeBatch({ size, cost, callers, durationMs }: CompletedBatch, now: number): void {
    if (this.#isUnlimited) return;
    this.#meanCost += (cost / size - this.#meanCost) * FADE;
    this.#busyMs += (durationMs - this.#busyMs) * FADE;
    this.#busyCost += (cost - this.#busyCost) * FADE;
    this.#forecast.batchEnded(callers, durationMs, now);
  }

  decide(view: QueueView, now: number): Decision {
    const { curve, cost, length } = view;
    if (curve.samples < this.#samples) this.#startAnew();
    this.#samples = curve.samples;
    const { nextDeadline } = view;
    this.#isUnlimited = view.slots === Number.POSITIVE_INFINITY && nextDeadline === Number.POSITIVE_INFINITY;
    if (this.#isUnlimited || curve.predict(cost) === undefined) return leave(view, length);
    let latestStart = Number.POSITIVE_INFINITY;
    if (nextDeadline !== Number.POSITIVE_INFINITY) {
      const urgent = this.#has('on-time window') ? this.#underDeadlines(view, now) : undefined;
      if (urgent !== undefined) return urgent;
      // Later than this, one more could not be taken along.
      latestStart = nextDeadline - safeMs(curve, predict(view, cost + this.#meanCost));
    }
    // With other slots, no more is tried than would leave: they would have to do without this one for so long.
    const triesFirst = view.slots === 1 || this.#savesBackend;
    const probe = triesFirst ? this.#probe(view, now, cost) : undefined;
    if (probe !== undefined) return probe;
    if (this.#savesBackend && mayBeLate(view)) return this.#asLateAsIsSafe(view, now);
    const decision = this.#forLatency(view, now, latestStart);
    // Nothing is tried that will not be planned with.
    if (triesFirst || decision.action === 'wait' || curve.spread > MOST_SPREAD) return decision;
    return this.#probe(view, now, Math.min(cost, decision.count * this.#meanCost)) ?? decision;
  }

  #forLatency(view: QueueView, now: number, latestStart: number): Decision {
    // Of groups nobody knows who will come: what is known of arrivals is known of all together.
    const paying = this.#allThatPays(view);
    if (view.isGrouped || paying < view.length) return leave(view, paying);
    return (
      this.#heldForCompany(view, now, latestStart) ??
      this.#heldUntilFuller(view, now, latestStart) ??
      this.#planned(view, now, latestStart) ??
      leave(view, view.length)
    );
  }

  /** Instead of so much, a size that was hardly tried leaves. */
  #probe(view: QueueView, now: number, cost: number): Decision | undefined {
    const untried = view.isGrouped || !this.#has('probing') ? 0 : this.#probing.next(view, cost);
    if (untried === 0 || !this.#restCanWait(view, now, untried)) return undefined;
    return leave(view, countWithin(view, untried));
  }

  /** The curve was emptied: what was concluded from it is void. */
  #startAnew(): void {
    this.#planner = new DispatchPlanner(this.#has('evenly spread'));
    this.#probing = new Probing();
    this.#lookAt = 0;
  }

  /** What to do when not all that would make the next batch can be served in time. */
  #underDeadlines(view: QueueView, now: number): Decision | undefined {
    const { curve, limits, cost, length } = view;
    const wanted = Math.min(cost, limits.maxBatchSize);
    const leap = this.#has('leap in size') ? leapTo(curve, wanted) : undefined;
    const ends = now + (leap === undefined ? predict(view, wanted) : safeMs(curve, leap.inProportionMs));
    if (ends <= view.nextDeadline || ends <= earliestDeadline(view)) return undefined;
    const expectedMs = (batch: number) =>
      this.#has('leap in size') ? boldlyMs(curve, batch) : predict(view, batch);
    const safeDuration = (batch: number) => safeMs(curve, expectedMs(batch));
    const mostCost = leap?.cost ?? this.#quickestSize(view);
    const traffic = this.#costPerMs(view, now);
    // A margin decides whom to serve when not all can be. Where all can, or when nobody is sure to be in time, those are
    // served who are on average.
    // Who saves the backend waits until the last moment for a batch up to a step: just past it there seems to be time, too.
    const isAtStep = this.#savesBackend && this.#steps(view).length > 0;
    const isCrowd = isAtStep || cost > limits.maxBatchSize || isOverload(view, traffic);
    const searchPatient = this.#has('of the patient');
    const safest = isCrowd
      ? bestWindow(view, now, mostCost, safeDuration, traffic, searchPatient)
      : undefined;
    const { refuse, count, hopeless } =
      safest !== undefined && safest.count > 0
        ? safest
        : bestWindow(view, now, mostCost, expectedMs, traffic, searchPatient);
    if (hopeless.length > 0) return { action: 'wait', until: now + 1, refuseAt: hopeless };
    if (count > 0) {
      // Those who are let go for a batch had no time for it; for a shorter one they might.
      const kept = refuse > 0 || !this.#has('quickest size') ? count : quickestOf(view, now, count);
      return { action: 'dispatch', count: kept, reason: 'deadline', refuse };
    }
    // What is not known yet, or not any more, is found out rather than believed.
    const isDoubtful = isColdStart(curve, view.slots) || now - curve.updatedAt >= FRESH_MS;
    if (view.freeSlots > 0 && isDoubtful) return leave(view, length);
    return { action: 'wait', until: now + 1, refuse };
  }

  /** Whether those who stay behind when so much leaves can be served after it in time. */
  #restCanWait(view: QueueView, now: number, cost: number): boolean {
    if (isOverload(view, this.#costPerMs(view, now))) return true; // some will be late, whatever is done
    const bothMs = predict(view, cost) + predict(view, Math.max(view.cost - cost, this.#meanCost));
    return now + safeMs(view.curve, bothMs) <= view.nextDeadline;
  }

  #asLateAsIsSafe(view: QueueView, now: number): Decision {
    // Nobody could join them.
    if (view.cost >= view.limits.maxBatchSize) return leave(view, this.#allThatPays(view));
    const traffic = {
      meanCost: this.#meanCost,
      costPerMs: this.#costPerMs(view, now),
      busyPerCost: this.#busyCost > 0 ? this.#busyMs / this.#busyCost : predict(view, view.cost) / view.cost,
      steps: this.#steps(view),
    };
    const { at, count } = latestStartOf(view, now, traffic);
    return count > 0 ? leave(view, count, 'deadline') : { action: 'wait', until: at };
  }

  /**
   * All that waits; but of a long queue only as much as gets most done a millisecond. Where large batches
   * are slower an item, a queue that leaves all at once would only grow.
   */
  #allThatPays(view: QueueView): number {
    const quickest = this.#quickestSize(view);
    return view.cost >= BACKLOG * quickest ? countWithin(view, quickest) : view.length;
  }

  /** Looked for after every batch: in an overload each that is too large costs everybody. */
  #quickestSize(view: QueueView): number {
    const { curve, limits } = view;
    if (!this.#has('quickest size')) return limits.maxBatchSize;
    if (curve.samples === this.#quickestAt && limits.maxBatchSize === this.#quickestUpTo)
      return this.#quickest;
    this.#quickestAt = curve.samples;
    this.#quickestUpTo = limits.maxBatchSize;
    const known = quickestSize(curve, limits.maxBatchSize);
    this.#quickest = this.#has('quickest or above') ? quickestOrAbove(known, view) : known;
    return this.#quickest;
  }

  /** Looked for every now and then. */
  #steps({ curve, limits }: QueueView): readonly number[] {
    if (curve.samples >= this.#lookAt) {
      this.#lookAt = curve.samples + LOOK_EVERY;
      this.#knownSteps = curveSteps(curve, limits);
    }
    return this.#knownSteps;
  }

  #planned(view: QueueView, now: number, latestStart: number): Decision | undefined {
    if (!this.#has('plan')) return undefined;
    const advice = this.#planner.advice(
      view,
      this.#rate.ratePerMs(now) * this.#meanCost,
      this.#costPerMs(view, now),
      now,
    );
    if (advice === undefined) return undefined;
    if (advice.cost > 0) {
      const count = countWithin(view, advice.cost);
      return leave(view, canFollow(view, now, count) ? count : view.length);
    }
    const { timerResolutionMs, maxBatchSize } = view.limits;
    if (view.cost >= maxBatchSize) return undefined; // nobody could join them
    const leftMs = Math.min(latestStart - now, predict(view, this.#meanCost) - heldMs(view, now));
    const waitMs = Math.min(advice.waitMs, leftMs);
    const until = now + Math.max(waitMs, timerResolutionMs);
    const isTooShort = leftMs <= timerResolutionMs || waitMs < timerResolutionMs / 2 || !(until > now);
    return isTooShort ? leave(view, view.length) : { action: 'wait', until };
  }

  /** A short wait when those who are about to come save more than those who are here lose. */
  #heldForCompany(view: QueueView, now: number, latestStart: number): Decision | undefined {
    const { cost, length, limits } = view;
    if (cost >= limits.maxBatchSize || !this.#has('forecast')) return undefined;
    const fixedMs = fixedPartMs(view, this.#meanCost);
    const leftMs = Math.min(fixedMs - heldMs(view, now), latestStart - now);
    if (leftMs <= 0) return undefined;
    const usualPerMs = view.arrivals.ratePerMs(now);
    const forecast = this.#forecast.best(now, limits.timerResolutionMs, leftMs, usualPerMs);
    if (forecast === undefined) return undefined;
    const { expected, horizonMs, takesMs, areReturning, inAll } = forecast;
    const company = Math.min(inAll * this.#meanCost, limits.maxBatchSize - cost);
    const savesMs = predict(view, cost) + predict(view, company) - predict(view, cost + company);
    const savedMs = expected * CAUTION * savesMs;
    const lostMs = length * takesMs;
    if (!areReturning || view.slots > 1) {
      if (savesMs < LEAST_SAVING * predict(view, cost) || savedMs <= lostMs) return undefined;
      return { action: 'wait', until: now + horizonMs };
    }
    // Callers who come back leave together from then on, and save as much with every batch: that is worth the time
    // until all are here, of whom the last takes far longer than the next. And who is left behind by his own crowd waits for all of it.
    const isMissed = expected * LEFT_BEHIND * predict(view, cost) > lostMs;
    const allMs = (horizonMs * (1 + Math.log(Math.max(1, inAll)))) / -Math.log(1 - expected / inAll);
    return isMissed && CAUTION * savesMs > allMs ? { action: 'wait', until: now + horizonMs } : undefined;
  }

  /** In overload, when those who come meanwhile are worth more than the time in which the backend does nothing. */
  #heldUntilFuller(view: QueueView, now: number, latestStart: number): Decision | undefined {
    // Callers who come back together are many for a moment only, and after a pause there seem to be few: what counts
    // is what comes in the long run.
    const costPerMs = this.#rate.ratePerMs(now) * this.#meanCost;
    if (!this.#has('wait until fuller') || !isOverload(view, costPerMs / SURE_OVERLOAD)) return undefined;
    const fixedMs = fixedPartMs(view, this.#meanCost);
    // Under a target there is no long queue, and the door has counted on batches that leave: only for a full one.
    if (latestStart < Number.POSITIVE_INFINITY && costPerMs * fixedMs < view.limits.maxBatchSize)
      return undefined;
    const leftMs = Math.min(fixedMs - heldMs(view, now), latestStart - now);
    const until = now + waitUntilFuller(view, costPerMs, leftMs, lastUpTo(this.#steps(view), view.cost));
    // When many come at one instant, it may seem that those who are missing will be here before any time has passed.
    return until > now ? { action: 'wait', until } : undefined;
  }

  #costPerMs(view: QueueView, now: number): number {
    return view.arrivals.ratePerMs(now) * this.#meanCost;
  }
}

/** Of so many who could be served in time, fewer if all others who wait can follow then, and else could not. */
function quickestOf(view: QueueView, now: number, count: number): number {
  const kept = countWithin(view, quickestSize(view.curve, costOf(view, count)));
  const pays = kept < count && !canFollow(view, now, count) && canFollow(view, now, kept);
  return pays ? kept : count;
}

/** Whether, when so many leave, the others can be served after them in time. */
function canFollow(view: QueueView, now: number, count: number): boolean {
  const { curve, limits, nextDeadline, running, cost, length } = view;
  if (nextDeadline === Number.POSITIVE_INFINITY || count >= length) return true;
  const leaving = costOf(view, count);
  const left = Math.min(cost - leaving, limits.maxBatchSize);
  let nextMs = view.freeSlots > 1 ? 0 : predict(view, leaving);
  for (const { cost, startedAt } of running) {
    nextMs = Math.min(nextMs, Math.max(0, startedAt + predict(view, cost) - now));
  }
  const endsAt = now + safeMs(curve, nextMs + predict(view, left));
  for (let position = count; position < length; position++) {
    if (view.deadlineAt(position) < endsAt) return false;
  }
  return true;
}

/** Whether more comes than full batches could serve. */
function isOverload(view: QueueView, costPerMs: number): boolean {
  const { maxBatchSize } = view.limits;
  return costPerMs * predict(view, maxBatchSize) > view.slots * maxBatchSize;
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
