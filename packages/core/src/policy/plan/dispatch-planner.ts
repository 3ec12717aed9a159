/**
 * Keeps a dispatch plan at hand for the traffic of the moment: starts one when the rate or the curve
 * has changed enough to matter, works on it a little at each decision, and says what it says.
 */

import type { CurveEstimate } from '../../learning/service-curve.js';
import { curveSteps } from '../curve-steps.js';
import type { QueueView } from '../policy.js';
import { fixedPartMs } from '../view-questions.js';
import { curveTable } from './curve-table.js';
import { DispatchPlan } from './dispatch-plan.js';
import { quickestSize, usualDuration } from './plan-problem.js';

export interface Advice {
  /** How much to dispatch, in cost; 0 to wait. */
  readonly cost: number;
  /** For how long at most; Infinity for until a slot is free. */
  readonly waitMs: number;
}

/** Rates that differ by less share a plan. */
const RATE_STEP = 1.12;
/** By how many steps the rate may be above what is planned for, and below: it need not go back and forth between two. */
const MOST_ABOVE = 0.25;
const MOST_BELOW = 1.5;
/** How much of the rate of the last few arrivals counts: it may be a whim of theirs. */
const CAUTION = 0.9;
const MOST_PLANS = 8;
/** When a slot will be free cannot be planned with where nobody knows how long batches take. */
export const MOST_SPREAD = 0.18;
/** Nothing can be planned for more than can be served. */
const MOST_LOAD = 0.96;
/** How much of a plan is worked out, in units a millisecond that has passed: a quarter of the thread, for the tenth of a second that a plan takes. */
const WORK_PER_MS = 2000;
/** And no more than this at once: some hundred microseconds. */
const MOST_WORK = 4000;
/** From how many batches on the curve is worth planning with. */
const LEAST_SAMPLES = 16;
/** With fewer than this to be expected while a batch runs, nobody is worth waiting for. */
const LEAST_COMPANY = 0.2;
/** By how much durations must change for a plan to be out of date. */
const LEAST_CHANGE = 0.05;
/** Near what can be done at most, a little more or less of that is a world of difference: from which load on, and how little. */
const BUSY = 0.8;
const LEAST_GAIN = 0.02;
/** How much more either may change as long as the first plan is being made. */
const PATIENCE = 3;
/** After how many batches it is looked whether they have. */
const LOOK_EVERY = 16;
/** How much of an even spread over the slots is kept to. */
const PACE = 0.9;
/** No longer than what comes in so many times the fixed part of a batch: what takes its time anyway need not wait for others. */
const MOST_PACED = 3;
/** How far apart the sizes are that are planned with, in doublings. */
const SIZE_STEP = 0.25;
/** Beyond this, everything waiting is served at once anyway. */
const LARGEST_BATCH = 4096;

interface Sketch {
  readonly maxBatchSize: number;
  readonly slots: 1 | 2;
  readonly steps: readonly number[];
  readonly sizes: readonly number[];
  readonly durations: ReadonlyMap<number, number>;
  /** What can be done at most. */
  readonly mostPerMs: number;
}

export class DispatchPlanner {
  /** Finished or in the making, for the curve as it is sketched, by level of the rate. */
  readonly #plans = new Map<number, DispatchPlan>();
  #sketch: Sketch | undefined;
  #lookAt = 0;
  #level = Number.NaN;
  /** What is gone by until there is something better. */
  #inUse: DispatchPlan | undefined;
  /** The one begun last, finished or not: the next goes on from there. */
  #latest: DispatchPlan | undefined;
  #workedAt = 0;
  readonly #spreadsEvenly: boolean;

  constructor(spreadsEvenly: boolean) {
    this.#spreadsEvenly = spreadsEvenly;
  }

  /** What the plan says to do now, when so much comes on average, and lately; undefined when there is none, or nothing to plan. */
  advice(view: QueueView, costPerMs: number, latelyPerMs: number, now: number): Advice | undefined {
    const { curve, slots } = view;
    const { maxBatchSize } = view.limits;
    if (maxBatchSize > LARGEST_BATCH || slots === Number.POSITIVE_INFINITY) return undefined;
    const aloneMs = curve.predict(1) ?? 0;
    if (curve.samples < LEAST_SAMPLES || !(costPerMs * aloneMs > LEAST_COMPANY * slots)) return undefined;
    if (slots > 1 && curve.spread > MOST_SPREAD) return undefined;
    const ratePerMs = costPerMs * Math.min(1, 2 / slots);
    const sketch = this.#upToDate(view, ratePerMs);
    if (sketch.slots === 1 && sketch.sizes.length === 0) return undefined; // leaving with everything is best
    const plan = this.#planFor(sketch, ratePerMs, curve);
    if (!plan.isSolved) plan.work(Math.min(MOST_WORK, WORK_PER_MS * (now - this.#workedAt)));
    this.#workedAt = now;
    if (plan.isUseful) this.#inUse = plan;
    else if (plan.isSolved) this.#inUse = undefined;
    // Also when more seems to come than can be served: near that, it seems so every now and then, and queues are long.
    // But it knows no deadlines: in overload, who is left for another slot may be late.
    const mayLeaveSome = slots === 1 || view.nextDeadline === Number.POSITIVE_INFINITY;
    if (this.#inUse?.isUseful && (mayLeaveSome || ratePerMs < sketch.mostPerMs)) {
      const risingPerMs = (CAUTION * latelyPerMs * sketch.slots) / slots;
      return adviceOf(this.#inUse, view, Math.max(ratePerMs, risingPerMs), now);
    }
    return plan.isSolved || !this.#spreadsEvenly ? undefined : evenlySpread(view, costPerMs, now);
  }

  /** Whether there is none to go by until the one in the making is ready: better a plan that is a little off than to begin again and again. */
  get #isMakingFirst(): boolean {
    return this.#inUse === undefined && this.#latest?.isSolved === false;
  }

  #upToDate(view: QueueView, ratePerMs: number): Sketch {
    const { curve, limits } = view;
    const { maxBatchSize } = limits;
    const slots = view.slots === 1 ? 1 : 2;
    const known = this.#sketch;
    const isSameProblem = known?.maxBatchSize === maxBatchSize && known.slots === slots;
    if (isSameProblem && curve.samples < this.#lookAt) return known;
    this.#lookAt = curve.samples + LOOK_EVERY;
    const steps = curveSteps(curve, limits);
    const sizes = sizesToConsider(steps, maxBatchSize, slots);
    const patience = this.#isMakingFirst ? PATIENCE : 1;
    const mostPerMs =
      sizes.length === 0 ? 0 : slots * mostDone(curveTable(curve, maxBatchSize, steps), sizes, maxBatchSize);
    const isBusy = ratePerMs > BUSY * mostPerMs;
    if (
      isSameProblem &&
      sameSizes(known.steps, steps) &&
      !hasChanged(known, curve, patience) &&
      !(isBusy && canDoOtherwise(known.mostPerMs, mostPerMs, curve, patience))
    )
      return known;
    if (!isSameProblem) {
      this.#inUse = undefined;
      this.#latest = undefined;
    }
    const durations = new Map<number, number>();
    for (const size of [...powersOfTwo(maxBatchSize), ...steps]) {
      durations.set(size, curve.predict(size) as number);
    }
    this.#plans.clear();
    this.#sketch = { maxBatchSize, slots, steps, sizes, durations, mostPerMs };
    return this.#sketch;
  }

  #planFor(
    { maxBatchSize, slots, steps, sizes }: Sketch,
    costPerMs: number,
    curve: CurveEstimate,
  ): DispatchPlan {
    const position = Math.log(costPerMs) / Math.log(RATE_STEP);
    // Who plans for a little too much loses next to nothing; who plans for too little does not keep up.
    const above = (position - this.#level) / (this.#isMakingFirst ? PATIENCE : 1);
    if (!(above < MOST_ABOVE && above > -MOST_BELOW)) this.#level = Math.ceil(position + MOST_ABOVE);
    let plan = this.#plans.get(this.#level);
    // One that came to nothing because of what it began with gets another chance.
    const isInVain = plan?.isSolved && !plan.isUseful && plan.isAdapted;
    if (plan === undefined || isInVain) {
      if (this.#plans.size === MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value as number);
      const durationMs = curveTable(curve, maxBatchSize, steps);
      const mostPerMs = slots * mostDone(durationMs, sizes, maxBatchSize);
      const ratePerMs = Math.min(RATE_STEP ** this.#level, MOST_LOAD * mostPerMs);
      const problem = { slots, maxBatchSize, steps, sizes, ratePerMs, durationMs };
      plan = new DispatchPlan(problem, isInVain ? undefined : this.#latest);
      this.#latest = plan;
      this.#plans.set(this.#level, plan);
    }
    return plan;
  }
}

/** As long as there is no plan for several slots: batches evenly spread over them, each as large as what comes in its turn. */
function evenlySpread(view: QueueView, costPerMs: number, now: number): Advice | undefined {
  const { cost, slots, curve, lastDispatchAt, limits } = view;
  if (slots <= 2 || cost >= limits.maxBatchSize) return undefined;
  const durationMs = (size: number) => curve.predict(size) as number;
  const everyMs = usualDuration({ slots, ratePerMs: costPerMs, durationMs }, limits.maxBatchSize) / slots;
  const company = costPerMs * Math.min(everyMs, (MOST_PACED * fixedPartMs(view, 1)) / slots);
  const waitMs = lastDispatchAt + PACE * everyMs - now;
  return waitMs > 0 && cost < company ? { cost: 0, waitMs } : undefined;
}

function adviceOf(plan: DispatchPlan, view: QueueView, ratePerMs: number, now: number): Advice {
  const residualMs = meanResidualMs(view, now);
  // Of more slots than the plan's two, each has less to do with what waits beyond the usual, and will be free sooner.
  const share = Math.min(1, 2 / view.slots);
  const count = Math.min(view.cost, Math.ceil(plan.usualSize + (view.cost - plan.usualSize) * share));
  const cost = plan.sizeFor(count, residualMs, ratePerMs);
  return { cost, waitMs: cost > 0 ? 0 : plan.waitMs(count, residualMs) * share };
}

/**
 * How long the other slots are still busy, on average. A plan knows one other slot; of several, the mean
 * says as much of how near they all are to be free.
 */
function meanResidualMs({ running, curve, slots }: QueueView, now: number): number {
  if (slots === 1) return 0;
  let sumMs = 0;
  for (const { cost, startedAt } of running) {
    // One that should have ended is about to.
    sumMs += Math.max(1e-6, startedAt + (curve.predict(cost) as number) - now);
  }
  return sumMs / (slots - 1);
}

/** Where to stop; and sizes of all magnitudes: to share work between slots, and where a long queue is cut beyond the last step. */
function sizesToConsider(steps: readonly number[], maxBatchSize: number, slots: 1 | 2): readonly number[] {
  if (slots === 1 && steps.length === 0) return steps;
  const sizes = new Set(steps);
  for (let doublings = 0; ; doublings += SIZE_STEP) {
    const size = Math.round(2 ** doublings);
    if (size >= maxBatchSize) break;
    sizes.add(size);
  }
  return [...sizes].sort((x, y) => x - y);
}

/** What one slot gets done a millisecond at most. */
function mostDone(
  durationMs: (cost: number) => number,
  sizes: readonly number[],
  maxBatchSize: number,
): number {
  const quickest = quickestSize({ sizes, maxBatchSize, durationMs });
  return quickest / durationMs(quickest);
}

function powersOfTwo(limit: number): number[] {
  const powers: number[] = [];
  for (let power = 1; power <= limit; power *= 2) powers.push(power);
  return powers;
}

function sameSizes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, i) => size === b[i]);
}

function hasChanged({ durations }: Sketch, curve: CurveEstimate, patience: number): boolean {
  const allowed = patience * Math.max(LEAST_CHANGE, curve.spread / 2);
  for (const [size, before] of durations) {
    if (Math.abs((curve.predict(size) as number) / before - 1) > allowed) return true;
  }
  return false;
}

/** Whether more, or less, can be done than was known. */
function canDoOtherwise(
  knownPerMs: number,
  mostPerMs: number,
  { spread }: CurveEstimate,
  patience: number,
): boolean {
  return Math.abs(mostPerMs / knownPerMs - 1) > patience * Math.max(LEAST_GAIN, spread / 3);
}
