/**
 * The default policy: dispatches when a slot is free, like `greedy()`, except where it has learned that something else
 * serves the callers better. Its rules, in the order in which they are asked:
 *
 *  1. On-time window: if not all queued items can meet their deadlines, which of them to serve.
 *  2. Probing: sizes that were hardly measured are tried a few times. With several slots this is the last rule.
 *  3. Efficiency, if preferred: as late as is safe, so that batches are full.
 *  4. Best size: of a long queue, the size with the highest throughput.
 *  5. Forecast: a short hold for items that are about to arrive.
 *  6. Plan: the optimal size where the backend pads or has several slots.
 *
 * Before them, with several groups under deadlines, the group order says which group the decision is about. Until the
 * first batches have ended, the policy is greedy.
 */
import { describe } from '../errors/describe.js';
import { invalidOption, validKeys } from '../errors/valid.js';
import type { CurveEstimate } from '../learning/service-curve.js';
import { latestStart as latestStartOf, mayBeLate } from './efficiency.js';
import { reasonToDispatch } from './greedy-policy.js';
import { nextGroup } from './group-order.js';
import {
  costOf,
  countWithin,
  earliestDeadline,
  heldMs,
  isLearned,
  isOverload,
  type LearnedView,
} from './next-batch.js';
import { bestWindow } from './on-time-window.js';
import { BACKLOG } from './plan/dispatch-plan.js';
import { DispatchPlanner, MOST_VARIATION } from './plan/dispatch-planner.js';
import type { Decision, Policy, QueueView, Reason } from './policy.js';
import { Probing } from './probing.js';

/** The rules that the arena removes one at a time to measure what each gains. */
export const RULES = ['group order', 'on-time window', 'plan', 'best size', 'forecast', 'probing'] as const;

export type Rule = (typeof RULES)[number];

export interface AdaptiveOptions {
  /**
   * What to optimise: latency, or backend time while the callers still get their answers within the target.
   * @default 'latency'
   */
  readonly prefer?: 'latency' | 'efficiency' | undefined;
}

/** How many times the hold weighs a returning caller that would miss the batch: 20 % of latency in some closed loops. */
const MISSED_RETURN_COST = 3;
/** The least share of a batch's duration that a hold must save. */
const LEAST_SAVING = 0.15;
/** The share of a predicted saving that counts. */
const CAUTION = 0.9;

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

/** What is planned and probed with one curve, and its `samples` at the latest decision. */
interface CurvePlans {
  readonly planner: DispatchPlanner;
  readonly probing: Probing;
  samples: number;
}

class AdaptivePolicy implements Policy {
  readonly name = 'adaptive';
  readonly nextGroup?: typeof nextGroup;
  readonly #savesBackend: boolean;
  readonly #removed: readonly Rule[];
  readonly #plansOf = new WeakMap<CurveEstimate, CurvePlans>();
  #latest: CurvePlans | undefined;

  constructor(savesBackend: boolean, removed: readonly Rule[] = []) {
    this.#savesBackend = savesBackend;
    this.#removed = removed;
    if (this.#has('group order')) this.nextGroup = nextGroup;
  }

  #has(rule: Rule): boolean {
    return !this.#removed.includes(rule);
  }

  prepare(now: number): void {
    this.#latest?.planner.work(now);
  }

  /** Backends, groups and batchers with curves of their own have plans of their own. */
  #plans({ curve }: QueueView): CurvePlans {
    let plans = this.#plansOf.get(curve);
    // Fewer samples than before: the curve was reset by `configure({ batchSizes })`.
    if (plans === undefined || curve.samples < plans.samples) {
      plans = { planner: new DispatchPlanner(), probing: new Probing(), samples: 0 };
      this.#plansOf.set(curve, plans);
    }
    plans.samples = curve.samples;
    this.#latest = plans;
    return plans;
  }

  decide(view: QueueView, now: number): Decision {
    const { cost, length, nextDeadline, slots } = view;
    const isUnlimited = slots === Number.POSITIVE_INFINITY && nextDeadline === Number.POSITIVE_INFINITY;
    if (isUnlimited || !isLearned(view)) return dispatch(view, length);
    let latestStart = Number.POSITIVE_INFINITY;
    if (nextDeadline !== Number.POSITIVE_INFINITY) {
      const urgent = this.#has('on-time window') ? this.#underDeadlines(view, now) : undefined;
      if (urgent !== undefined) return urgent;
      // After this, no further item could join the batch.
      latestStart = nextDeadline - view.curve.upper(cost + view.traffic.meanCost);
    }
    // With several slots, a probe is no larger than the batch that would be dispatched: the others need not wait for it.
    const probesFirst = slots === 1 || this.#savesBackend;
    const probe = probesFirst ? this.#probe(view, now, cost) : undefined;
    if (probe !== undefined) return probe;
    if (this.#savesBackend && mayBeLate(view)) return this.#asLateAsIsSafe(view, now);
    const decision = this.#forLatency(view, now, latestStart);
    if (probesFirst || decision.action !== 'dispatch' || view.curve.variation > MOST_VARIATION)
      return decision;
    return this.#probe(view, now, Math.min(cost, decision.count * view.traffic.meanCost)) ?? decision;
  }

  #forLatency(view: LearnedView, now: number, latestStart: number): Decision {
    const count = this.#bestCount(view);
    if (count < view.length || view.isGrouped) return dispatch(view, count);
    return (
      this.#heldForArrivals(view, now, latestStart) ??
      this.#planned(view, now, latestStart) ??
      dispatch(view, count)
    );
  }

  #probe(view: LearnedView, now: number, cost: number, instead = cost): Decision | undefined {
    if (view.isGrouped || !this.#has('probing')) return undefined;
    const { probing } = this.#plans(view);
    const size = probing.candidate(view.curve, view.limits, cost, instead);
    if (size === 0 || !restCanWait(view, now, size)) return undefined;
    probing.tried(size, view.curve);
    return dispatch(view, countWithin(view, size));
  }

  /** What to do when not all items of the next batch can be served in time. */
  #underDeadlines(view: LearnedView, now: number): Decision | undefined {
    const { limits, cost, length, curve } = view;
    const ends = now + curve.mean(Math.min(cost, limits.maxBatchSize));
    if (ends <= view.nextDeadline || ends <= earliestDeadline(view)) return undefined;
    const maxCost = this.#bestCost(view);
    const arrivingPerMs = view.traffic.costPerMs(now);
    const windowBy = (durationMs: (cost: number) => number) =>
      bestWindow(view, now, maxCost, durationMs, arrivingPerMs);
    // When not all can be served, a safe bound decides which. Otherwise no item is rejected that may be in time.
    // In efficiency mode a batch waits for the last moment up to a step; past it there only seems to be time.
    const isAtStep = this.#savesBackend && curve.steps(limits.maxBatchSize).length > 0;
    const isCrowded = isAtStep || cost + view.waitingElsewhere > limits.maxBatchSize || isOverload(view, now);
    const safest = isCrowded ? windowBy((size) => curve.upper(size)) : undefined;
    const { rejected, count } =
      safest !== undefined && safest.count > 0
        ? safest
        : windowBy((size) => (isCrowded ? curve.mean(size) : curve.lower(size)));
    // A batch checks an estimate that is uncertain or old.
    if (count === 0 && curve.isUncertain(view.costAt(0), view.slots, now)) return dispatch(view, length);
    if (rejected.length > 0) return { action: 'reject', positions: rejected };
    // Larger sizes than that of the window are measured as well: after a step, they are quicker than expected.
    return this.#probe(view, now, cost + 1, costOf(view, count)) ?? dispatch(view, count, 'deadline');
  }

  #asLateAsIsSafe(view: LearnedView, now: number): Decision {
    if (view.cost >= view.limits.maxBatchSize) return dispatch(view, this.#bestCount(view));
    const { at, count } = latestStartOf(view, now);
    return count > 0 ? dispatch(view, count, 'deadline') : { action: 'wait', until: at };
  }

  #bestCost({ curve, limits }: LearnedView): number {
    return this.#has('best size') ? curve.bestSize(limits.maxBatchSize).cost : limits.maxBatchSize;
  }

  /** All items, but of a long queue only the best size: larger batches with less throughput would let it grow. */
  #bestCount(view: LearnedView): number {
    const best = this.#bestCost(view);
    return view.cost >= BACKLOG * best ? countWithin(view, best) : view.length;
  }

  #planned(view: LearnedView, now: number, latestStart: number): Decision | undefined {
    const advice = this.#has('plan') ? this.#plans(view).planner.advice(view, now) : undefined;
    if (advice === undefined) return undefined;
    if (advice.cost > 0) return dispatch(view, countWithin(view, advice.cost));
    const { timerResolutionMs, maxBatchSize } = view.limits;
    if (view.cost >= maxBatchSize) return undefined;
    const leftMs = Math.min(latestStart - now, view.curve.mean(view.traffic.meanCost) - heldMs(view, now));
    const waitMs = Math.min(advice.waitMs, leftMs);
    const until = now + Math.max(waitMs, timerResolutionMs);
    const isTooShort = leftMs <= timerResolutionMs || waitMs < timerResolutionMs / 2 || !(until > now);
    return isTooShort ? dispatch(view, view.length) : { action: 'wait', until };
  }

  /** A short hold when the items that are about to arrive save more than the queued ones lose. */
  #heldForArrivals(view: LearnedView, now: number, latestStart: number): Decision | undefined {
    const { cost, length, limits, traffic, curve } = view;
    if (cost >= limits.maxBatchSize || !this.#has('forecast')) return undefined;
    const leftMs = Math.min(curve.fixedPartMs(traffic.meanCost) - heldMs(view, now), latestStart - now);
    if (leftMs <= 0) return undefined;
    const forecast = traffic.forecast(now, limits.timerResolutionMs, leftMs);
    if (forecast === undefined) return undefined;
    const { expected, horizonMs, takesMs, areReturning, inAll } = forecast;
    const arriving = Math.min(inAll * traffic.meanCost, limits.maxBatchSize - cost);
    const savesMs = curve.mean(cost) + curve.mean(arriving) - curve.mean(cost + arriving);
    const lostMs = length * takesMs;
    if (!areReturning || view.slots > 1) {
      const isWorth = savesMs >= LEAST_SAVING * curve.mean(cost) && expected * CAUTION * savesMs > lostMs;
      return isWorth ? { action: 'wait', until: now + horizonMs } : undefined;
    }
    // Returning callers share every batch from then on, which is worth the time until the last of them is back. A caller
    // that misses the batch waits for all of it.
    const isMissed = expected * MISSED_RETURN_COST * curve.mean(cost) > lostMs;
    const allMs = (horizonMs * (1 + Math.log(Math.max(1, inAll)))) / -Math.log(1 - expected / inAll);
    return isMissed && CAUTION * savesMs > allMs ? { action: 'wait', until: now + horizonMs } : undefined;
  }
}

/** Whether the items left behind by a batch of this cost can still be served in time after it. */
function restCanWait(view: LearnedView, now: number, cost: number): boolean {
  if (isOverload(view, now)) return true; // some will be late in any case
  const { curve, traffic, nextDeadline } = view;
  const restMs = curve.upper(Math.max(view.cost - cost, traffic.meanCost));
  return now + curve.upper(cost) + restMs <= nextDeadline;
}

function dispatch(view: QueueView, count: number, reason?: Reason): Decision {
  const { length, cost, limits, waitingElsewhere } = view;
  const isCut = count < length && cost < limits.maxBatchSize;
  const usual = reasonToDispatch(isCut ? 0 : cost, limits.maxBatchSize, waitingElsewhere);
  return { action: 'dispatch', count, reason: reason ?? usual };
}
