/**
 * Two slots and Poisson arrivals as a semi-Markov decision process. When a slot is free, all that matters
 * is how many wait and how long the other slot will still be busy, which is tabled in equal steps.
 *
 * Exact but for that table: between its steps relative costs are taken to be straight. A batch put beside
 * one that is busy for r leads to the first end of the two, min(r, T), after which the other goes on for
 * |T - r|. Waiting leads to the next arrival or one step of r, whichever is first, so a decision can
 * change at an arrival and while nothing happens. Costs are item-milliseconds: the service of a batch is
 * paid when it leaves, waiting as it goes by.
 */
import { type Curve, capacity } from '../simulation/curve.js';
import { type LongQueue, longQueue } from './long-queue.js';
import { type PoissonWeights, poissonWeights } from './poisson-weights.js';

/** Beneath what the table's steps cost in precision. */
const NEGLIGIBLE = 1e-13;

/** Of a step: a remainder so near to one is at it. */
const ROUNDING = 1e-9;

/** Of all states, by how much the relative cost changed. */
export interface Change {
  readonly least: number;
  readonly most: number;
}

interface AfterDispatch {
  /** Until a slot is free again, and who comes until then. */
  readonly ms: number;
  readonly arrivals: PoissonWeights;
  /** Where the other slot's remainder is then: the row of a step, and a share of the way to the next. */
  readonly row: number;
  readonly share: number;
}

export class TwoSlotProcess {
  readonly stepMs: number;
  /** The busy slot's remainders run from 0, idle, to so many steps. */
  readonly steps: number;
  /** Queues run from 0 to this. */
  readonly limit: number;
  /** By remainder, then queue: how many to dispatch; 0 to wait. */
  readonly actions: Uint16Array;

  readonly #perMs: number;
  readonly #queue: LongQueue;
  readonly #mostItems: number;
  readonly #durationMs: Float64Array;
  /** What comes during so many steps, and during a batch of so many. */
  readonly #inSteps: PoissonWeights[];
  readonly #inBatch: PoissonWeights[];
  /** The relative cost, by remainder, then queue, each row drawn out as far as any batch can reach. */
  readonly #cost: Float64Array;
  readonly #rowLength: number;
  /** By remainder, then batch size. */
  readonly #afterDispatch: AfterDispatch[] = [];
  /** How waiting for an arrival within one step turns out. */
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
    // An arrival at s leaves the remainder between two steps: its weight is parted as s parts the step.
    this.#arrivalLate = (1 - this.#noArrival * (1 + perStep)) / perStep;
    this.#arrivalEarly = 1 - this.#noArrival - this.#arrivalLate;

    const quickest = capacity(curve).size;
    this.actions = new Uint16Array((this.steps + 1) * (this.limit + 1));
    this.#cost = new Float64Array((this.steps + 1) * this.#rowLength);
    // To begin with, everybody up to the quickest size, and what draining the queue costs roughly.
    for (let step = 0; step <= this.steps; step++) {
      for (let n = 0; n <= this.limit; n++) {
        this.actions[step * (this.limit + 1) + n] = Math.min(n, quickest);
        this.#cost[step * this.#rowLength + n] = n * n * this.#queue.bend;
      }
    }
  }

  relativeCost(waiting: number, step: number): number {
    return this.#cost[step * this.#rowLength + waiting] as number;
  }

  /** One sweep over all states with the actions as they are, when a millisecond is worth `perMsCost`. */
  evaluate(perMsCost: number): Change {
    this.#drawOut(perMsCost);
    return this.#sweep(perMsCost, (waiting, step, waitValue) => {
      const action = this.actions[step * (this.limit + 1) + waiting] as number;
      return action === 0 ? waitValue : this.#dispatchValue(waiting, step, action, perMsCost);
    });
  }

  /** The same with the best actions, which it puts in place. */
  improve(perMsCost: number): Change {
    this.#drawOut(perMsCost);
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

  /** In place, rising remainders and falling queues, so that a long wait is gone through in one sweep. */
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

  /** For every state the best batch, from the relative costs as they are. */
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

  /** By how many stay behind: the mean relative cost after the arrivals. */
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

  /** Queues beyond the table, from its end. */
  #drawOut(perMsCost: number): void {
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
