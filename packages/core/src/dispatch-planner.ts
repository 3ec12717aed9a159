/**
 * Keeps a dispatch plan at hand for the traffic of the moment: starts one when the rate or the curve
 * has changed enough to matter, works on it a little at each decision, and says what it says.
 */
import { curveSteps } from './curve-steps.js';
import { DispatchPlan } from './dispatch-plan.js';
import type { QueueView } from './policy.js';
import type { CurveEstimate, CurvePoint } from './service-curve.js';

export interface Advice {
  /** How much to dispatch, in cost; 0 to wait. */
  readonly cost: number;
  /** For how long at most; Infinity for until a slot is free. */
  readonly waitMs: number;
}

/** Rates that differ by less share a plan. */
const RATE_STEP = 1.12;
const MOST_PLANS = 8;
const MOST_SPREAD = 0.18;
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
/** After how many batches it is looked whether they have. */
const LOOK_EVERY = 16;
/** How much of an even spread over the slots is kept to, and how much must come meanwhile for that to pay. */
const PACE = 0.9;
const LEAST_PACED = 2;
/** Beyond this, everything waiting is served at once anyway. */
const LARGEST_BATCH = 4096;

interface Sketch {
  readonly maxBatchSize: number;
  readonly slots: 1 | 2;
  readonly steps: readonly number[];
  readonly sizes: readonly number[];
  readonly durations: ReadonlyMap<number, number>;
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

  /** What the plan says to do now; undefined when there is none, or nothing to plan. */
  advice(view: QueueView, costPerMs: number, now: number): Advice | undefined {
    const { curve, slots } = view;
    const { maxBatchSize } = view.limits;
    if (maxBatchSize > LARGEST_BATCH || slots === Number.POSITIVE_INFINITY) return undefined;
    const aloneMs = curve.predict(1) ?? 0;
    if (curve.samples < LEAST_SAMPLES || !(costPerMs * aloneMs > LEAST_COMPANY * slots)) return undefined;
    // When a slot will be free cannot be planned with where nobody knows how long batches take.
    if (slots > 1 && curve.spread > MOST_SPREAD) return undefined;
    const sketch = this.#upToDate(view);
    if (sketch.slots === 1 && sketch.sizes.length === 0) return undefined; // leaving with everything is best
    const plan = this.#planFor(sketch, slots === 1 ? costPerMs : (2 * costPerMs) / slots, curve);
    if (!plan.isSolved) plan.work(Math.min(MOST_WORK, WORK_PER_MS * (now - this.#workedAt)));
    this.#workedAt = now;
    if (plan.isUseful) this.#inUse = plan;
    else if (plan.isSolved) this.#inUse = undefined;
    if (this.#inUse?.isUseful) return adviceOf(this.#inUse, view, now);
    return plan.isSolved ? undefined : evenlySpread(view, costPerMs, now);
  }

  #upToDate(view: QueueView): Sketch {
    const { curve, limits } = view;
    const slots = view.slots === 1 ? 1 : 2;
    const known = this.#sketch;
    const isSameProblem = known?.maxBatchSize === limits.maxBatchSize && known.slots === slots;
    if (isSameProblem && curve.samples < this.#lookAt) return known;
    this.#lookAt = curve.samples + LOOK_EVERY;
    const steps = curveSteps(curve, limits);
    const sizes = sizesToConsider(steps, limits.maxBatchSize, slots);
    if (isSameProblem && sameSizes(known.sizes, sizes) && !hasChanged(known, curve)) return known;
    if (!isSameProblem) {
      this.#inUse = undefined;
      this.#latest = undefined;
    }
    const durations = new Map<number, number>();
    for (const size of [...powersOfTwo(limits.maxBatchSize), ...sizes]) {
      durations.set(size, curve.predict(size) as number);
    }
    this.#plans.clear();
    this.#sketch = { maxBatchSize: limits.maxBatchSize, slots, steps, sizes, durations };
    return this.#sketch;
  }

  #planFor(
    { maxBatchSize, slots, steps, sizes }: Sketch,
    costPerMs: number,
    curve: CurveEstimate,
  ): DispatchPlan {
    const position = Math.log(costPerMs) / Math.log(RATE_STEP);
    // A rate between two levels does not go back and forth.
    if (!(Math.abs(position - this.#level) < 0.75)) this.#level = Math.round(position);
    let plan = this.#plans.get(this.#level);
    // One that came to nothing because of what it began with gets another chance.
    const isInVain = plan?.isSolved && !plan.isUseful && plan.isAdapted;
    if (plan === undefined || isInVain) {
      if (this.#plans.size === MOST_PLANS) this.#plans.delete(this.#plans.keys().next().value as number);
      const table = tableOf(curve, maxBatchSize);
      const best = curve.best(maxBatchSize) as CurvePoint;
      const capacity = (slots * best.cost) / best.durationMs;
      const problem = {
        slots,
        maxBatchSize,
        steps,
        sizes,
        ratePerMs: Math.min(RATE_STEP ** this.#level, MOST_LOAD * capacity),
        durationMs: (cost: number) => onTable(table, cost),
      };
      plan = new DispatchPlan(problem, isInVain ? undefined : (this.#inUse ?? this.#latest));
      this.#latest = plan;
      this.#plans.set(this.#level, plan);
    }
    return plan;
  }
}

/** As long as there is no plan for several slots: batches evenly spread over them. */
function evenlySpread(view: QueueView, costPerMs: number, now: number): Advice | undefined {
  const { cost, slots, curve, lastDispatchAt } = view;
  const everyMs = (curve.predict(cost) as number) / slots;
  if (slots <= 2 || costPerMs * everyMs < LEAST_PACED) return undefined;
  const waitMs = lastDispatchAt + PACE * everyMs - now;
  return waitMs > 0 ? { cost: 0, waitMs } : undefined;
}

function adviceOf(plan: DispatchPlan, view: QueueView, now: number): Advice {
  const residualMs = meanResidualMs(view, now);
  const cost = plan.sizeFor(view.cost, residualMs);
  // The time until a slot is free passes as much faster as there are more slots than the plan's two.
  const waitMs = cost > 0 ? 0 : plan.waitMs(view.cost, residualMs) * Math.min(1, 2 / view.slots);
  return { cost, waitMs };
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

/** Where to stop; and, to share work between slots, sizes of all magnitudes. */
function sizesToConsider(steps: readonly number[], maxBatchSize: number, slots: 1 | 2): readonly number[] {
  if (slots === 1) return steps;
  const sizes = new Set(steps);
  for (const size of powersOfTwo(maxBatchSize)) {
    if (size < maxBatchSize) sizes.add(size);
    if (size * 1.5 < maxBatchSize && size > 1) sizes.add(size * 1.5);
  }
  return [...sizes].sort((x, y) => x - y);
}

function powersOfTwo(limit: number): number[] {
  const powers: number[] = [];
  for (let power = 1; power <= limit; power *= 2) powers.push(power);
  return powers;
}

function sameSizes(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, i) => size === b[i]);
}

function hasChanged({ durations }: Sketch, curve: CurveEstimate): boolean {
  const allowed = Math.max(LEAST_CHANGE, curve.spread / 2);
  for (const [size, before] of durations) {
    if (Math.abs((curve.predict(size) as number) / before - 1) > allowed) return true;
  }
  return false;
}

/** The curve as it is now: a plan that is made bit by bit must not see it change. */
function tableOf(curve: CurveEstimate, maxBatchSize: number): Float64Array {
  return Float64Array.from(
    { length: maxBatchSize + 1 },
    (_, cost) => curve.predict(Math.max(1, cost)) as number,
  );
}

function onTable(table: Float64Array, cost: number): number {
  const below = Math.min(table.length - 1, Math.floor(cost));
  const value = table[below] as number;
  const next = table[below + 1];
  return next === undefined ? value : value + (cost - below) * (next - value);
}
