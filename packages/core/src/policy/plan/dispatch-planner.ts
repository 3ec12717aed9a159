/**
 * Keeps a dispatch plan at hand for the traffic of the moment: requests one when the rate or the curve has changed
 * enough to matter, computes it between decisions, and reads it when a decision is due. A plan is read as soon as it is
 * useful, and is refined further until it is solved.
 */
import { LEARNED_BATCHES } from '../../learning/curve-table.js';
import type { KnownCurve } from '../../learning/service-curve.js';
import { ROUNDING_MS } from '../../time/clock.js';
import { isOverload, type LearnedView } from '../next-batch.js';
import type { RunningWork } from '../policy.js';
import { CAUTION, DispatchPlan } from './dispatch-plan.js';
import { PLAN_GRID_RATIO, type PlanProblem } from './plan-states.js';

interface Advice {
  /** The cost to dispatch; 0 to wait. */
  readonly cost: number;
  /** The longest wait; Infinity for until a slot is free. */
  readonly waitMs: number;
}

/** How far the rate may be above that of the plan, in steps of the grid, before another is requested: 2 % of latency. */
const MOST_ABOVE = 0.25;
/** The largest batches that are planned for: bounds the memory and the time of a plan. */
const MAX_PLANNED_BATCH_SIZE = 2048;
/** Plans that are kept: some 50 KiB each. */
const MOST_PLANS = 8;
/** The coefficient of variation above which the end of a running batch cannot be planned with. */
export const MOST_VARIATION = 0.18;
/** The load of a plan is at most this: no plan serves more than the backend can. */
const MOST_LOAD = 0.96;
/** Computation at once, and per millisecond of time that has passed, in evaluated states: some 0.1 µs each. */
const WORK = 2000;
/** The relative change of a duration that makes a plan outdated. */
const LEAST_CHANGE = 0.05;
/** Batch sizes to consider, for each doubling. */
const SIZES_PER_DOUBLING = 4;
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
  advice(view: LearnedView, now: number): Advice | undefined {
    const { curve, limits, traffic } = view;
    const working = withoutHung(view, now);
    const slots = Math.max(1, view.slots - (view.running.length - working.length));
    if (limits.maxBatchSize > MAX_PLANNED_BATCH_SIZE || slots === Number.POSITIVE_INFINITY) return undefined;
    const arrivingPerMs = traffic.steadyCostPerMs(now);
    if (curve.samples < LEARNED_BATCHES || !(arrivingPerMs > 0)) return undefined;
    if (slots > 1 && curve.variation > MOST_VARIATION) return undefined;
    // A plan has two slots at most. With more, each has less to do with the items beyond the usual number.
    const sketch = this.#upToDate(view, slots === 1 ? 1 : 2);
    const share = sketch.slots / slots;
    const ratePerMs = arrivingPerMs * share;
    if (sketch.slots === 1 && sketch.steps.length === 0) return undefined; // dispatching everything is optimal
    const wanted = this.#planFor(sketch, ratePerMs);
    if (wanted.isUseful) this.#inUse = wanted;
    else if (wanted.isSolved) this.#inUse = undefined;
    if (this.#inUse === undefined) return undefined;
    // A plan knows no deadlines: in overload, an item that is left for another slot may be late.
    const mayLeaveSome = slots === 1 || view.nextDeadline === Number.POSITIVE_INFINITY;
    if (!mayLeaveSome && isOverload(view, now)) return undefined;
    const plan = this.#inUse;
    const residualMs = meanResidualMs(view.curve, working, slots, now);
    const queued = Math.min(view.cost, Math.ceil(plan.usualSize + (view.cost - plan.usualSize) * share));
    const recentPerMs = CAUTION * traffic.costPerMs(now) * share;
    const cost = plan.sizeFor(queued, residualMs, Math.max(ratePerMs, recentPerMs));
    return { cost, waitMs: cost > 0 ? 0 : plan.waitMs(queued, residualMs) * share };
  }

  /** Computes the requested plan a little further. */
  work(now: number): void {
    const plan = this.#wanted;
    if (plan?.isSolved === false) plan.work(WORK * Math.min(1, now - this.#workedAt));
    this.#workedAt = now;
  }

  #upToDate({ curve, limits }: LearnedView, slots: 1 | 2): Sketch {
    const { maxBatchSize } = limits;
    const known = this.#sketch;
    const isSameProblem = known?.maxBatchSize === maxBatchSize && known.slots === slots;
    if (isSameProblem && curve.samples < this.#lookAt) return known;
    this.#lookAt = curve.samples + LEARNED_BATCHES;
    const steps = curve.steps(maxBatchSize);
    const bestSize = curve.bestSize(maxBatchSize).cost;
    const capacityPerMs = slots * (curve.capacityPerMs(maxBatchSize) ?? Number.POSITIVE_INFINITY);
    const gain = capacityPerMs / (known?.capacityPerMs ?? 0) - 1;
    const isSame =
      isSameProblem && steps.join() === known.steps.join() && Math.abs(gain) <= allowedChange(curve);
    if (isSame && !hasChanged(known, curve)) return known;
    if (!isSameProblem) this.#inUse = undefined;
    this.#plans.clear();
    const sizes = sizesToConsider(steps, maxBatchSize, slots);
    // A plan that is computed bit by bit must not see the curve change.
    const mean = (_: unknown, cost: number) => curve.mean(Math.max(1, cost));
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
    const position = Math.log(ratePerMs) / Math.log(PLAN_GRID_RATIO);
    // A plan for a little too much costs next to nothing; one for too little does not keep up.
    const above = position - this.#level;
    if (!(above < MOST_ABOVE && above > -1 - 2 * MOST_ABOVE)) this.#level = Math.ceil(position + MOST_ABOVE);
    let plan = this.#plans.get(this.#level);
    if (plan === undefined) {
      if (this.#plans.size === MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value as number);
      const planned = Math.min(PLAN_GRID_RATIO ** this.#level, MOST_LOAD * sketch.capacityPerMs);
      plan = new DispatchPlan({ ...sketch, ratePerMs: planned }, this.#wanted);
      this.#plans.set(this.#level, plan);
    }
    this.#wanted = plan;
    return plan;
  }
}

function withoutHung({ running, curve }: LearnedView, now: number): readonly RunningWork[] {
  return running.filter(({ cost, startedAt }) => now - startedAt <= HUNG * curve.upper(cost));
}

/** The mean time until the other slots are free. A plan knows one other slot; of several, the mean stands for them. */
function meanResidualMs(
  curve: KnownCurve,
  running: readonly RunningWork[],
  slots: number,
  now: number,
): number {
  let sumMs = 0;
  for (const { cost, startedAt } of running) {
    // A batch that should have ended is about to.
    sumMs += Math.max(ROUNDING_MS, startedAt + curve.mean(cost) - now);
  }
  return slots === 1 ? 0 : sumMs / (slots - 1);
}

/** The steps, and sizes in between where work is shared between slots or a long queue is cut. */
function sizesToConsider(steps: readonly number[], maxBatchSize: number, slots: 1 | 2): readonly number[] {
  if (slots === 1 && steps.length === 0) return steps;
  const sizes = new Set(steps);
  for (let exponent = 0; 2 ** exponent < maxBatchSize; exponent += 1 / SIZES_PER_DOUBLING) {
    const size = Math.round(2 ** exponent);
    if (size < maxBatchSize) sizes.add(size);
  }
  return [...sizes].sort((x, y) => x - y);
}

function hasChanged({ maxBatchSize, steps, durationMs }: Sketch, curve: KnownCurve): boolean {
  const sizes = [...steps];
  for (let power = 1; power <= maxBatchSize; power *= 2) sizes.push(power);
  return sizes.some((size) => Math.abs(curve.mean(size) / durationMs(size) - 1) > allowedChange(curve));
}

function allowedChange({ variation }: KnownCurve): number {
  return Math.max(LEAST_CHANGE, variation / 2);
}
