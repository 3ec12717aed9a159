/**
 * The minimum mean latency of all policies with one slot and Poisson arrivals, and the policy that reaches it. A
 * semi-Markov decision process: arrivals are memoryless and durations depend on the batch size only, so the state is
 * the queue length when the slot is free. Solved exactly by policy iteration.
 */
import type { Decision, Policy } from 'batchwise';
import { type Curve, capacity } from '../simulation/curve.js';
import type { Contender } from '../simulation/scenario.js';
import { solveLinear } from './linear-system.js';
import { type LongQueue, longQueue } from './long-queue.js';
import { type PoissonWeights, poissonWeights } from './poisson-weights.js';

export interface PoissonOptimum {
  readonly curve: Curve;
  readonly perMs: number;
  readonly meanMs: number;
  /** How many of `waiting` items to dispatch when the slot is free; 0 to wait for the next arrival. */
  batchSize(waiting: number): number;
}

/** An action must be better by more than rounding errors; otherwise equal actions could alternate forever. */
const RELATIVE_GAIN = 1e-11;
const MAX_ROUNDS = 200;

export function poissonOptimum(curve: Curve, perMs: number): PoissonOptimum {
  const process = new SingleSlot(curve, perMs);
  const actions = process.initialActions();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const { inSystem, relativeCost } = process.evaluate(actions);
    if (process.improve(actions, inSystem, relativeCost)) continue;
    return {
      curve,
      perMs,
      meanMs: inSystem / perMs, // Little's law
      batchSize: (waiting) => Math.min(waiting, actions[Math.min(waiting, actions.length - 1)] as number),
    };
  }
  throw new Error(`Curve ${curve.name} at ${perMs} items/ms: no optimum after ${MAX_ROUNDS} rounds.`);
}

/** The optimum as a contender, for the same arrivals as the other contenders. */
export function poissonOptimumContender(optimum: PoissonOptimum): Contender {
  const decide = ({ length, limits }: { length: number; limits: { maxBatchSize: number } }): Decision => {
    const count = optimum.batchSize(length);
    if (count === 0) return { action: 'wait', until: Number.POSITIVE_INFINITY };
    return { action: 'dispatch', count, reason: count >= limits.maxBatchSize ? 'full' : 'idle' };
  };
  const policy: Policy = { name: 'optimum', decide };
  return {
    name: policy.name,
    policy({ curve, slots }) {
      if (curve.name !== optimum.curve.name || slots !== 1) {
        throw new RangeError(`This optimum is for one slot of curve ${optimum.curve.name}.`);
      }
      return policy;
    },
    knowsTarget: false,
  };
}

/** Costs are in item-milliseconds, so that the cost per millisecond is the mean number of items in the system. */
interface Evaluation {
  readonly inSystem: number;
  readonly relativeCost: Float64Array;
}

class SingleSlot {
  readonly #perMs: number;
  readonly #queue: LongQueue;
  readonly #mostItems: number;
  readonly #quickest: number;
  /** Duration, and arrivals during it, by batch size. */
  readonly #durationMs: Float64Array;
  readonly #arrivals: PoissonWeights[];
  readonly #mostArrivals: number;
  /** A frequent queue length, the reference state: costs relative to a rare one would be lost in rounding. */
  readonly #usual: number;

  constructor(curve: Curve, perMs: number) {
    this.#perMs = perMs;
    this.#queue = longQueue(curve, 1, perMs);
    this.#mostItems = curve.maxBatchSize;
    this.#quickest = capacity(curve).size;
    this.#durationMs = Float64Array.from({ length: curve.maxBatchSize + 1 }, (_, size) =>
      size === 0 ? 0 : curve.durationMs(size),
    );
    this.#arrivals = Array.from(this.#durationMs, (ms) => poissonWeights(perMs * ms));
    this.#mostArrivals = Math.max(...this.#arrivals.map(({ first, weights }) => first + weights.length));
    let usual = 1;
    for (let i = 0; i < 50; i++)
      usual = perMs * curve.durationMs(Math.min(Math.max(1, usual), this.#quickest));
    this.#usual = Math.min(Math.round(usual), this.#quickest);
  }

  /** The initial actions: all items up to the size with the maximum throughput, which is stable at any load below 1. */
  initialActions(): Uint16Array {
    return Uint16Array.from({ length: this.#queue.limit + 1 }, (_, n) => Math.min(n, this.#quickest));
  }

  /** Solves cost(n) + E relative(next) - relative(n) = inSystem · time(n), with relative(usual) = 0. */
  evaluate(actions: Uint16Array): Evaluation {
    const { limit, msToLimit, costToLimit } = this.#queue;
    const size = limit + 1;
    const matrix = new Float64Array(size * size);
    const right = new Float64Array(size);
    // relative(usual) is 0, so its column holds the unknown mean. As the last column and row it leaves a matrix with a
    // narrow band below the diagonal, for which elimination is quick.
    const usual = this.#usual;
    const place = (n: number): number => (n === usual ? limit : n < usual ? n : n - 1);
    for (let n = 0; n <= limit; n++) {
      const row = matrix.subarray(place(n) * size, (place(n) + 1) * size);
      const action = actions[n] as number;
      let cost = this.#cost(n, action);
      let ms = this.#time(action);
      const add = (state: number, weight: number) => {
        const column = place(state);
        if (state !== usual) row[column] = (row[column] as number) + weight;
      };
      const addNext = (state: number, weight: number) => {
        add(Math.min(state, limit), -weight);
        if (state <= limit) return;
        cost += weight * costToLimit(state - limit);
        ms += weight * msToLimit(state - limit);
      };
      add(n, 1);
      if (action === 0) addNext(n + 1, 1);
      else {
        const { first, weights } = this.#arrivals[action] as PoissonWeights;
        for (let i = 0; i < weights.length; i++) addNext(n - action + first + i, weights[i] as number);
      }
      row[limit] = ms;
      right[place(n)] = cost;
    }
    const solution = solveLinear(matrix, right);
    const relativeCost = solution.map((_, n) => (n === usual ? 0 : (solution[place(n)] as number)));
    return { inSystem: solution[limit] as number, relativeCost };
  }

  /** Replaces actions by better ones. Returns whether there was any. */
  improve(actions: Uint16Array, inSystem: number, relativeCost: Float64Array): boolean {
    const { limit } = this.#queue;
    const continued = this.#continued(inSystem, relativeCost);
    const values = this.#dispatchValues(inSystem, continued);
    let anyBetter = false;
    for (let n = 1; n <= limit; n++) {
      const waitValue = this.#cost(n, 0) - inSystem * this.#time(0) + (continued[n + 1] as number);
      const valueWith = (action: number): number =>
        action === 0
          ? waitValue
          : (values[action]?.[n - action] as number) + n * (this.#durationMs[action] as number);
      let best = actions[n] as number;
      let least = valueWith(best) - RELATIVE_GAIN * (1 + Math.abs(continued[n] as number));
      // At the end of the table waiting is not allowed.
      for (let action = n === limit ? 1 : 0; action <= Math.min(n, this.#mostItems); action++) {
        const value = valueWith(action);
        if (value >= least) continue;
        least = value;
        best = action;
      }
      if (best === actions[n]) continue;
      actions[n] = best;
      anyBetter = true;
    }
    return anyBetter;
  }

  /** Value of a dispatch by batch size and remaining queue, without the service cost of the batch. */
  #dispatchValues(inSystem: number, continued: Float64Array): Float64Array[] {
    const { limit } = this.#queue;
    return this.#arrivals.map(({ first, weights }, action) => {
      const own = this.#cost(0, action) - inSystem * this.#time(action);
      const values = new Float64Array(limit + 1);
      for (let left = 0; left <= limit - action && action > 0; left++) {
        let next = 0;
        for (let i = 0; i < weights.length; i++) {
          next += (weights[i] as number) * (continued[left + first + i] as number);
        }
        values[left] = own + next;
      }
      return values;
    });
  }

  /** The relative cost, continued up to the longest queue after any batch. */
  #continued(inSystem: number, relativeCost: Float64Array): Float64Array {
    const { limit, msToLimit, costToLimit } = this.#queue;
    const continued = new Float64Array(limit + this.#mostArrivals + 2);
    continued.set(relativeCost);
    for (let n = limit + 1; n < continued.length; n++) {
      const beyond = n - limit;
      continued[n] = (relativeCost[limit] as number) + costToLimit(beyond) - inSystem * msToLimit(beyond);
    }
    return continued;
  }

  #time(action: number): number {
    return action === 0 ? 1 / this.#perMs : (this.#durationMs[action] as number);
  }

  /** Cost of the waiting items and of the arrivals during the batch. */
  #cost(waiting: number, action: number): number {
    const ms = this.#time(action);
    return waiting * ms + (action === 0 ? 0 : (this.#perMs * ms * ms) / 2);
  }
}
