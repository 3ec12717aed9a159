/**
 * What a dispatch plan is made for, and its states with their values: the queued cost, and the time until the other slot
 * is free. Values are interpolated between states.
 */

/** What a dispatch plan is made for: a backend, and Poisson arrivals. */
export interface PlanProblem {
  /** 2 if there is another slot. */
  readonly slots: 1 | 2;
  readonly maxBatchSize: number;
  /** The cost that arrives per millisecond. */
  readonly ratePerMs: number;
  /** The batch sizes to consider besides all queued items, rising. */
  readonly sizes: readonly number[];
  /** The sizes among them above which throughput drops. */
  readonly steps: readonly number[];
  /** The size with the highest throughput. */
  readonly bestSize: number;
  durationMs(cost: number): number;
}

/** The number of arrivals within some time as a few cases with their probabilities. */
export interface ArrivalOutcomes {
  readonly arrived: readonly number[];
  readonly chance: readonly number[];
}

/** Queued costs up to this are states of their own; beyond, each that is larger by `PLAN_GRID_RATIO`. */
const EXACT_COSTS = 24;
/** The resolution of plans: the ratio of neighbouring queue lengths, and of the rates of two plans. */
export const PLAN_GRID_RATIO = 1.12;
/** The longest queue with states, in batches of the expected size. */
export const LARGEST_BATCHES = 3;
/** Steps after which the usual duration has converged, except close to full load. */
const FIXED_POINT_STEPS = 20;
/** Expected arrivals up to which every number is a case of its own. */
const FEW = 4;
/** The precision of plans: the probability of the cases that are left out, and the relative change of settled values. */
export const PRECISION = 1e-3;

export class PlanStates {
  /** The queued costs, rising. */
  readonly queuedCosts: Float64Array;
  /** The time until the other slot is free, in steps; one row without another slot. */
  readonly rows: number;
  readonly stepMs: number;
  /** The value of each state, row by row. */
  readonly values: Float64Array;
  /** Beyond the last cost, values are extrapolated from it and this one: from a close one, errors would grow. */
  readonly #beforeLast: number;
  /** The value of a long queue grows with the square of its length: the curvature. */
  readonly #bend: number;

  constructor(
    largestSize: number,
    steps: readonly number[],
    rows: number,
    stepMs: number,
    drainPerMs: number,
  ) {
    this.queuedCosts = costGrid(largestSize, steps);
    this.#beforeLast = this.indexBelow((this.queuedCosts.at(-1) as number) / PLAN_GRID_RATIO);
    this.#bend = 1 / (2 * drainPerMs);
    this.rows = rows;
    this.stepMs = stepMs;
    this.values = new Float64Array(this.queuedCosts.length * rows);
  }

  get size(): number {
    return this.values.length;
  }

  queuedIn(state: number): number {
    return this.queuedCosts[state % this.queuedCosts.length] as number;
  }

  rowOf(state: number): number {
    return Math.floor(state / this.queuedCosts.length);
  }

  stateOf(row: number, index: number): number {
    return row * this.queuedCosts.length + index;
  }

  /** Interpolated; beyond the last state, extrapolated as a parabola. */
  valueAt(queued: number, residualMs: number): number {
    const last = this.queuedCosts.length - 1;
    const largest = this.queuedCosts[last] as number;
    const isBeyond = queued > largest;
    const index = isBeyond ? this.#beforeLast : Math.min(this.indexBelow(queued), last - 1);
    const next = isBeyond ? last : index + 1;
    const left = this.queuedCosts[index] as number;
    const right = this.queuedCosts[next] as number;
    const share = (queued - left) / (right - left);
    const position = this.rows === 1 ? 0 : Math.min(this.rows - 1, residualMs / this.stepMs);
    const row = Math.floor(position);
    let value = this.#valueInRow(row, index, next, share);
    if (position > row) value += (position - row) * (this.#valueInRow(row + 1, index, next, share) - value);
    return isBeyond ? value + this.#bend * (queued - right) * (queued - left) : value;
  }

  #valueInRow(row: number, index: number, next: number, share: number): number {
    const first = row * this.queuedCosts.length;
    const value = this.values[first + index] as number;
    return value + share * ((this.values[first + next] as number) - value);
  }

  /** The last state with at most this cost queued. */
  indexBelow(queued: number): number {
    const costs = this.queuedCosts;
    if (queued < EXACT_COSTS && queued < costs.length) return Math.floor(queued);
    let low = Math.min(EXACT_COSTS, costs.length - 1);
    let high = costs.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((costs[middle] as number) <= queued) low = middle;
      else high = middle;
    }
    return low;
  }
}

function costGrid(largestSize: number, steps: readonly number[]): Float64Array {
  const costs = new Set<number>();
  const largest = LARGEST_BATCHES * largestSize;
  for (let queued = 0; queued <= Math.min(EXACT_COSTS, largest); queued++) costs.add(queued);
  for (let queued = EXACT_COSTS; queued < largest; queued = Math.ceil(queued * PLAN_GRID_RATIO))
    costs.add(queued);
  for (const step of steps) if (step > EXACT_COSTS && step < largest) costs.add(step).add(step + 1);
  return Float64Array.from(costs.add(largest)).sort();
}

/** The duration of the batches that such traffic makes, up to the best size. */
export function usualDuration({ slots, ratePerMs, bestSize, durationMs }: PlanProblem): number {
  let usualMs = durationMs(1);
  for (let i = 0; i < FIXED_POINT_STEPS; i++) {
    usualMs = durationMs(Math.min(bestSize, Math.max(1, (ratePerMs * usualMs) / slots)));
  }
  return usualMs;
}

/** The arrivals are Poisson distributed. */
export function arrivalOutcomes(mean: number): ArrivalOutcomes {
  return mean <= FEW ? eachNumber(mean) : threeCases(mean);
}

function eachNumber(mean: number): ArrivalOutcomes {
  const arrived: number[] = [];
  const chance: number[] = [];
  let one = Math.exp(-mean);
  let sum = 0;
  for (let number = 0; 1 - sum > PRECISION; number++) {
    arrived.push(number);
    chance.push(one);
    sum += one;
    one *= mean / (number + 1);
  }
  return { arrived, chance: chance.map((part) => part / sum) };
}

/** Three cases with the first moments of a normal distribution (Gauss-Hermite). */
function threeCases(mean: number): ArrivalOutcomes {
  const away = Math.sqrt(3 * mean);
  return { arrived: [mean - away, mean, mean + away], chance: [1 / 6, 2 / 3, 1 / 6] };
}
