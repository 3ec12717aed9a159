/**
 * Two slots and Poisson arrivals as a semi-Markov decision process. The state when a slot is free is the queue length
 * and the remaining time of the other slot, in equal steps.
 *
 * Exact up to this discretization: relative costs are interpolated between steps. A batch of duration T dispatched
 * beside one with remaining time r leads to the first end of the two, min(r, T), after which the other one has
 * |T - r| left. Waiting leads to the next arrival or to the next step of r, whichever is first. Costs are in
 * item-milliseconds: service is charged at dispatch, waiting as time passes.
 */
import { type Curve, capacity } from '../simulation/curve.js';
import { type LongQueue, longQueue } from './long-queue.js';
import { type PoissonWeights, poissonWeights } from './poisson-weights.js';

/** Below the error of the discretization. */
const NEGLIGIBLE = 1e-13;

/** As a share of a step: a remaining time this close to a step is on it. */
const ROUNDING = 1e-9;

/** The least and the largest change of relative cost over all states. */
export interface Change {
  readonly least: number;
  readonly most: number;
}

interface AfterDispatch {
  /** Time until a slot is free again, and the arrivals until then. */
  readonly ms: number;
  readonly arrivals: PoissonWeights;
  /** Remaining time of the other slot then: the row of a step, and the share of the way to the next one. */
  readonly row: number;
  readonly share: number;
}

export class TwoSlotProcess {
  readonly stepMs: number;
  /** Steps of remaining time; 0 is an idle slot. */
  readonly steps: number;
  /** The longest queue of the table. */
  readonly limit: number;
  /** By step of remaining time, then queue length: how many items to dispatch; 0 to wait. */
  readonly actions: Uint16Array;

  readonly #perMs: number;
  readonly #queue: LongQueue;
  readonly #mostItems: number;
  readonly #durationMs: Float64Array;
  /** Arrivals by number of steps, and by batch size during the batch. */
  readonly #inSteps: PoissonWeights[];
  readonly #inBatch: PoissonWeights[];
  /** Relative cost by step, then queue length; each row continues up to the longest queue after any batch. */
  readonly #cost: Float64Array;
  readonly #rowLength: number;
  /** By step, then batch size. */
  readonly #afterDispatch: AfterDispatch[] = [];
  /** Expected wait for an arrival within one step, and the probabilities of its outcomes. */
  readonly #waitMs: number;
  readonly #noArrival: number;
  readonly #arrivalLate: number;
  readonly #arrivalEarly: number;

  constructor(curve: Curve, perMs: number, stepMs: number) {
    this.#perMs = perMs;
    this.#queue = longQueue(curve, 2, perMs);
    this.limit = this.#queue.limit;
    this.#mostItems = curve.maxBatchSize;
    this.#durationMs = Float64Array.from({ length: curve.maxBatchSize + 1 }, (_, size) =>
      size === 0 ? 0 : curve.durationMs(size),
    );
    this.stepMs = stepMs;
    this.steps = Math.ceil(Math.max(...this.#durationMs) / stepMs - ROUNDING);
    const weightsOf = (ms: number) => poissonWeights(perMs * ms, NEGLIGIBLE);
    this.#inSteps = Array.from({ length: this.steps + 1 }, (_, step) => weightsOf(step * stepMs));
    this.#inBatch = Array.from(this.#durationMs, weightsOf);
    const reach = Math.max(...this.#inSteps.map(({ first, weights }) => first + weights.length));
    this.#rowLength = this.limit + reach + 2;
    for (let step = 0; step <= this.steps; step++) {
      for (let size = 0; size <= this.#mostItems; size++)
        this.#afterDispatch.push(this.#findAfter(step, size));
    }

    const perStep = perMs * stepMs;
    this.#noArrival = Math.exp(-perStep);
    this.#waitMs = (1 - this.#noArrival) / perMs;
    // An arrival within a step is between two remaining times: its weight is interpolated.
    this.#arrivalLate = (1 - this.#noArrival * (1 + perStep)) / perStep;
    this.#arrivalEarly = 1 - this.#noArrival - this.#arrivalLate;

    const quickest = capacity(curve).size;
    this.actions = new Uint16Array((this.steps + 1) * (this.limit + 1));
    this.#cost = new Float64Array((this.steps + 1) * this.#rowLength);
    // Initially: dispatch up to the size with the maximum throughput, and the approximate cost of draining the queue.
    for (let step = 0; step <= this.steps; step++) {
      for (let n = 0; n <= this.limit; n++) {
        this.actions[step * (this.limit + 1) + n] = Math.min(n, quickest);
        this.#cost[step * this.#rowLength + n] = n * n * this.#queue.quadratic;
      }
    }
  }

  relativeCost(waiting: number, step: number): number {
    return this.#cost[step * this.#rowLength + waiting] as number;
  }

  /** One sweep over all states with the current actions; `perMsCost` is the estimated mean number of items. */
  evaluate(perMsCost: number): Change {
    this.#extend(perMsCost);
    return this.#sweep(perMsCost, (waiting, step, waitValue) => {
      const action = this.actions[step * (this.limit + 1) + waiting] as number;
      return action === 0 ? waitValue : this.#dispatchValue(waiting, step, action, perMsCost);
    });
  }

  /** One sweep with the best actions, which replace the current ones. */
  improve(perMsCost: number): Change {
    this.#extend(perMsCost);
    const { actions, limit } = this;
    const best = this.#bestDispatch(perMsCost);
    return this.#sweep(perMsCost, (waiting, step, waitValue) => {
      const state = step * (limit + 1) + waiting;
      const dispatchValue = best.values[state] as number;
      const isWaiting = waitValue < dispatchValue;
      actions[state] = isWaiting ? 0 : (best.sizes[state] as number);
      return isWaiting ? waitValue : dispatchValue;
    });
  }

  /** In place (Gauss–Seidel), by rising remaining time and falling queue: one sweep covers a long wait. */
  #sweep(perMsCost: number, decide: (waiting: number, step: number, waitValue: number) => number): Change {
    const cost = this.#cost;
    let least = Number.POSITIVE_INFINITY;
    let most = Number.NEGATIVE_INFINITY;
    for (let step = 0; step <= this.steps; step++) {
      const row = step * this.#rowLength;
      for (let n = this.limit; n >= 0; n--) {
        const value = decide(n, step, this.#waitValue(n, step, perMsCost));
        const change = value - (cost[row + n] as number);
        cost[row + n] = value;
        if (change < least) least = change;
        if (change > most) most = change;
      }
    }
    return { least, most };
  }

  #waitValue(waiting: number, step: number, perMsCost: number): number {
    const cost = this.#cost;
    const here = step * this.#rowLength + waiting;
    if (step === 0) return (waiting - perMsCost) / this.#perMs + (cost[here + 1] as number);
    const later = here - this.#rowLength;
    return (
      (waiting - perMsCost) * this.#waitMs +
      this.#noArrival * (cost[later] as number) +
      this.#arrivalEarly * (cost[here + 1] as number) +
      this.#arrivalLate * (cost[later + 1] as number)
    );
  }

  #dispatchValue(waiting: number, step: number, size: number, perMsCost: number): number {
    const { ms, arrivals, row, share } = this.#after(step, size);
    const { first, weights } = arrivals;
    const left = waiting - size;
    const cost = this.#cost;
    const from = row + left + first;
    let next = 0;
    for (let i = 0; i < weights.length; i++) next += (weights[i] as number) * (cost[from + i] as number);
    if (share > 0) {
      let further = 0;
      const above = from + this.#rowLength;
      for (let i = 0; i < weights.length; i++)
        further += (weights[i] as number) * (cost[above + i] as number);
      next += share * (further - next);
    }
    return this.#immediateCost(left, size, ms, perMsCost) + next;
  }

  /** The best dispatch in every state, from the current relative costs. */
  #bestDispatch(perMsCost: number): { values: Float64Array; sizes: Uint16Array } {
    const { limit } = this;
    const values = new Float64Array(this.actions.length).fill(Number.POSITIVE_INFINITY);
    const sizes = new Uint16Array(this.actions.length);
    const next = new Float64Array(limit + 1);
    for (let step = 0; step <= this.steps; step++) {
      for (let size = 1; size <= this.#mostItems; size++) {
        const { ms, arrivals, row, share } = this.#after(step, size);
        if (this.#durationMs[size] !== this.#durationMs[size - 1]) this.#expect(next, arrivals, row, share);
        for (let left = 0; left + size <= limit; left++) {
          const value = this.#immediateCost(left, size, ms, perMsCost) + (next[left] as number);
          const state = step * (limit + 1) + left + size;
          if (value >= (values[state] as number)) continue;
          values[state] = value;
          sizes[state] = size;
        }
      }
    }
    return { values, sizes };
  }

  /** Mean relative cost after the arrivals, by remaining queue. */
  #expect(into: Float64Array, { first, weights }: PoissonWeights, row: number, share: number): void {
    const cost = this.#cost;
    const above = share > 0 ? this.#rowLength : 0;
    const mixed = new Float64Array(this.#rowLength);
    for (let n = 0; n < mixed.length; n++) {
      const here = cost[row + n] as number;
      mixed[n] = here + share * ((cost[row + above + n] as number) - here);
    }
    for (let left = 0; left < into.length; left++) {
      let sum = 0;
      const from = left + first;
      for (let i = 0; i < weights.length; i++) sum += (weights[i] as number) * (mixed[from + i] as number);
      into[left] = sum;
    }
  }

  #after(step: number, size: number): AfterDispatch {
    return this.#afterDispatch[step * (this.#mostItems + 1) + size] as AfterDispatch;
  }

  #findAfter(step: number, size: number): AfterDispatch {
    const durationMs = this.#durationMs[size] as number;
    const inSteps = Math.abs(durationMs / this.stepMs - step);
    const whole = Math.floor(inSteps + ROUNDING);
    const isFirstToEnd = durationMs <= step * this.stepMs;
    return {
      ms: isFirstToEnd ? durationMs : step * this.stepMs,
      arrivals: (isFirstToEnd ? this.#inBatch[size] : this.#inSteps[step]) as PoissonWeights,
      row: whole * this.#rowLength,
      share: inSteps - whole > ROUNDING ? inSteps - whole : 0,
    };
  }

  #immediateCost(left: number, size: number, ms: number, perMsCost: number): number {
    const service = size * (this.#durationMs[size] as number);
    return service + left * ms + (this.#perMs * ms * ms) / 2 - perMsCost * ms;
  }

  /** Continues the rows beyond the table. */
  #extend(perMsCost: number): void {
    const { msToLimit, costToLimit } = this.#queue;
    for (let step = 0; step <= this.steps; step++) {
      const last = step * this.#rowLength + this.limit;
      for (let beyond = 1; beyond < this.#rowLength - this.limit; beyond++) {
        const toLimit = costToLimit(beyond) - perMsCost * msToLimit(beyond);
        this.#cost[last + beyond] = (this.#cost[last] as number) + toLimit;
      }
    }
  }
}
