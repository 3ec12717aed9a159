/**
 * Keeps a dispatch plan at hand for the traffic of the moment: requests one when the rate or the curve has changed
 * enough to matter, computes it between decisions, and reads it when a decision is due. A plan that is read is finished
 * and does not change.
 */
import type { CurveEstimate } from '../../learning/service-curve.js';
import type { QueueView } from '../policy.js';
import { DispatchPlan } from './dispatch-plan.js';
import type { PlanProblem } from './plan-problem.js';

export interface Advice {
  /** The cost to dispatch; 0 to wait. */
  readonly cost: number;
  /** The longest wait; Infinity for until a slot is free. */
  readonly waitMs: number;
}

/** The ratio of two rates that share a plan. */
const RATE_STEP = 1.12;
/** How far the rate may be above and below the rate of the plan in use, in steps, before another is requested. */
const MOST_ABOVE = 0.25;
const MOST_BELOW = 1.5;
/** The share of the recent rate that counts where it is above the steady one. */
const CAUTION = 0.9;
const MOST_PLANS = 8;
/** The coefficient of variation above which the end of a running batch cannot be planned with. */
export const MOST_VARIATION = 0.18;
/** The load of a plan is at most this: no plan serves more than the backend can. */
const MOST_LOAD = 0.96;
/** Computation per millisecond of time that has passed, and at once, in evaluated states: some 0.1 µs each. */
const WORK_PER_MS = 2000;
const MOST_WORK = 4000;
/** Batches after which the curve is worth planning with, and from one check of it to the next. */
const LOOK_EVERY = 16;
/** Expected arrivals while a batch runs, below which there is nothing to plan. */
const LEAST_ARRIVALS = 0.2;
/** The relative change of a duration that makes a plan outdated. */
const LEAST_CHANGE = 0.05;
/** The same for the capacity where the load is near it: small changes matter most there. */
const BUSY = 0.8;
const LEAST_GAIN = 0.02;
/** The distance of the sizes that a plan considers, in doublings. */
const SIZE_STEP = 0.25;
/** The largest batch that is planned for. */
const LARGEST_BATCH = 4096;
/** Multiples of the safe duration after which a running batch counts as hung. */
const HUNG = 8;

/** What a plan is made for, except for the rate. */
type Sketch = Omit<PlanProblem, 'ratePerMs'> & { readonly capacityPerMs: number };

export class DispatchPlanner {
  /** Plans for the curve as it is sketched, by level of the rate. */
  readonly #plans = new Map<number, DispatchPlan>();
  #sketch: Sketch | undefined;
  #lookAt = 0;
  #level = Number.NaN;
  #inUse: DispatchPlan | undefined;
  #wanted: DispatchPlan | undefined;
  #workedAt = 0;

  /** What the plan says; undefined when there is none, or nothing to plan. */
  advice(view: QueueView, now: number): Advice | undefined {
    const { curve, limits, traffic } = view;
    const slots = workingSlots(view, now);
    if (limits.maxBatchSize > LARGEST_BATCH || slots === Number.POSITIVE_INFINITY) return undefined;
    const arrivingPerMs = traffic.steadyRatePerMs(now) * traffic.meanCost;
    if (curve.samples < LOOK_EVERY || !(arrivingPerMs * (curve.mean(1) ?? 0) > LEAST_ARRIVALS * slots))
      return undefined;
    if (slots > 1 && curve.variation > MOST_VARIATION) return undefined;
    const ratePerMs = arrivingPerMs * Math.min(1, 2 / slots);
    const sketch = this.#upToDate(view, slots === 1 ? 1 : 2, ratePerMs);
    if (sketch.slots === 1 && sketch.steps.length === 0) return undefined; // dispatching everything is optimal
    const wanted = this.#planFor(sketch, ratePerMs);
    if (wanted.isUseful) this.#inUse = wanted;
    else if (wanted.isSolved) this.#inUse = undefined;
    if (this.#inUse === undefined) return undefined;
    // A plan knows no deadlines: in overload, an item that is left for another slot may be late.
    const mayLeaveSome = slots === 1 || view.nextDeadline === Number.POSITIVE_INFINITY;
    if (!mayLeaveSome && ratePerMs >= sketch.capacityPerMs) return undefined;
    const risingPerMs = (CAUTION * traffic.ratePerMs(now) * traffic.meanCost * sketch.slots) / slots;
    return adviceOf(this.#inUse, view, slots, Math.max(ratePerMs, risingPerMs), now);
  }

  /** Computes the requested plan a little further. */
  work(now: number): void {
    const plan = this.#wanted;
    if (plan?.isSolved === false) plan.work(Math.min(MOST_WORK, WORK_PER_MS * (now - this.#workedAt)));
    this.#workedAt = now;
  }

  #upToDate({ curve, limits }: QueueView, slots: 1 | 2, ratePerMs: number): Sketch {
    const { maxBatchSize } = limits;
    const known = this.#sketch;
    const isSameProblem = known?.maxBatchSize === maxBatchSize && known.slots === slots;
    if (isSameProblem && curve.samples < this.#lookAt) return known;
    this.#lookAt = curve.samples + LOOK_EVERY;
    const steps = curve.steps(maxBatchSize);
    const best = curve.bestSize(maxBatchSize);
    const bestSize = best?.cost ?? maxBatchSize;
    const capacityPerMs = (slots * bestSize) / (best?.durationMs ?? 1);
    if (isSameProblem && steps.join() === known.steps.join()) {
      const isBusy = ratePerMs > BUSY * capacityPerMs;
      const gain = Math.abs(capacityPerMs / known.capacityPerMs - 1);
      const doubt = isBusy ? Math.max(LEAST_GAIN, curve.variation / 3) : Number.POSITIVE_INFINITY;
      if (!hasChanged(known, curve) && gain <= doubt) return known;
    }
    if (!isSameProblem) this.#inUse = undefined;
    this.#plans.clear();
    const sizes = sizesToConsider(steps, maxBatchSize, slots);
    // A plan that is computed bit by bit must not see the curve change.
    const mean = (_: unknown, cost: number) => curve.mean(Math.max(1, cost)) as number;
    const table = Float64Array.from({ length: maxBatchSize + 2 }, mean);
    const durationMs = (cost: number) => {
      const below = Math.min(maxBatchSize, Math.floor(cost));
      const value = table[below] as number;
      return value + (cost - below) * ((table[below + 1] as number) - value);
    };
    this.#sketch = { maxBatchSize, slots, steps, sizes, bestSize, capacityPerMs, durationMs };
    return this.#sketch;
  }

  #planFor(sketch: Sketch, ratePerMs: number): DispatchPlan {
    const position = Math.log(ratePerMs) / Math.log(RATE_STEP);
    // A plan for a little too much costs next to nothing; one for too little does not keep up.
    const above = position - this.#level;
    if (!(above < MOST_ABOVE && above > -MOST_BELOW)) this.#level = Math.ceil(position + MOST_ABOVE);
    let plan = this.#plans.get(this.#level);
    if (plan === undefined) {
      if (this.#plans.size === MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value as number);
      const planned = Math.min(RATE_STEP ** this.#level, MOST_LOAD * sketch.capacityPerMs);
      plan = new DispatchPlan({ ...sketch, ratePerMs: planned }, this.#wanted);
      this.#plans.set(this.#level, plan);
    }
    this.#wanted = plan;
    return plan;
  }
}

/** The slots that are not held by a hung batch. */
function workingSlots({ slots, running, curve }: QueueView, now: number): number {
  let hung = 0;
  for (const { cost, startedAt } of running) {
    if (now - startedAt > HUNG * (curve.upper(cost) ?? Number.POSITIVE_INFINITY)) hung += 1;
  }
  return Math.max(1, slots - hung);
}

function adviceOf(
  plan: DispatchPlan,
  view: QueueView,
  slots: number,
  ratePerMs: number,
  now: number,
): Advice {
  const residualMs = meanResidualMs(view, slots, now);
  // With more slots than the two of the plan, each has less to do with the items beyond the usual number.
  const share = Math.min(1, 2 / slots);
  const count = Math.min(view.cost, Math.ceil(plan.usualSize + (view.cost - plan.usualSize) * share));
  const cost = plan.sizeFor(count, residualMs, ratePerMs);
  return { cost, waitMs: cost > 0 ? 0 : plan.waitMs(count, residualMs) * share };
}

/** The mean time until the other slots are free. A plan knows one other slot; of several, the mean stands for them. */
function meanResidualMs({ running, curve }: QueueView, slots: number, now: number): number {
  if (slots === 1) return 0;
  let sumMs = 0;
  for (const { cost, startedAt } of running) {
    // A batch that should have ended is about to, unless it hangs.
    if (now - startedAt <= HUNG * (curve.upper(cost) as number))
      sumMs += Math.max(1e-6, startedAt + (curve.mean(cost) as number) - now);
  }
  return sumMs / (slots - 1);
}

/** The steps, and sizes of all magnitudes where work is shared between slots or a long queue is cut. */
function sizesToConsider(steps: readonly number[], maxBatchSize: number, slots: 1 | 2): readonly number[] {
  if (slots === 1 && steps.length === 0) return steps;
  const sizes = new Set(steps);
  for (let doublings = 0; 2 ** doublings < maxBatchSize; doublings += SIZE_STEP) {
    const size = Math.round(2 ** doublings);
    if (size < maxBatchSize) sizes.add(size);
  }
  return [...sizes].sort((x, y) => x - y);
}

function hasChanged({ maxBatchSize, steps, durationMs }: Sketch, curve: CurveEstimate): boolean {
  const allowed = Math.max(LEAST_CHANGE, curve.variation / 2);
  const sizes = [...steps];
  for (let power = 1; power <= maxBatchSize; power *= 2) sizes.push(power);
  return sizes.some((size) => Math.abs((curve.mean(size) as number) / durationMs(size) - 1) > allowed);
}
