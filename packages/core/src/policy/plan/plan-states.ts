/**
 * The states of a dispatch plan and their values: the queued cost, and the time until the other slot is free. Values are
 * interpolated between states.
 */

/** Queued costs up to this are states of their own; beyond, each that is larger by `PLAN_GRID_RATIO`. */
const EXACT_COUNTS = 24;
/** The resolution of plans: the ratio of neighbouring queue lengths, and of the rates of two plans. */
export const PLAN_GRID_RATIO = 1.12;
/** The longest queue with states, in batches of the expected size. */
export const LARGEST_BATCHES = 3;

export class PlanStates {
  /** The queued costs, rising. */
  readonly counts: Float64Array;
  /** The time until the other slot is free, in steps; one row without another slot. */
  readonly rows: number;
  readonly stepMs: number;
  /** The value of each state, row by row. */
  readonly values: Float64Array;
  /** Beyond the last count, values are extrapolated from it and this one: from a close one, errors would grow. */
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
    this.counts = countGrid(largestSize, steps);
    this.#beforeLast = this.indexBelow((this.counts.at(-1) as number) / PLAN_GRID_RATIO);
    this.#bend = 1 / (2 * drainPerMs);
    this.rows = rows;
    this.stepMs = stepMs;
    this.values = new Float64Array(this.counts.length * rows);
  }

  get size(): number {
    return this.values.length;
  }

  countOf(state: number): number {
    return this.counts[state % this.counts.length] as number;
  }

  rowOf(state: number): number {
    return Math.floor(state / this.counts.length);
  }

  stateOf(row: number, index: number): number {
    return row * this.counts.length + index;
  }

  /** Interpolated; beyond the last state, extrapolated as a parabola. */
  valueAt(count: number, residualMs: number): number {
    const last = this.counts.length - 1;
    const largest = this.counts[last] as number;
    const isBeyond = count > largest;
    const index = isBeyond ? this.#beforeLast : Math.min(this.indexBelow(count), last - 1);
    const next = isBeyond ? last : index + 1;
    const left = this.counts[index] as number;
    const right = this.counts[next] as number;
    const share = (count - left) / (right - left);
    const position = this.rows === 1 ? 0 : Math.min(this.rows - 1, residualMs / this.stepMs);
    const row = Math.floor(position);
    let value = this.#valueInRow(row, index, next, share);
    if (position > row) value += (position - row) * (this.#valueInRow(row + 1, index, next, share) - value);
    return isBeyond ? value + this.#bend * (count - right) * (count - left) : value;
  }

  #valueInRow(row: number, index: number, next: number, share: number): number {
    const first = row * this.counts.length;
    const value = this.values[first + index] as number;
    return value + share * ((this.values[first + next] as number) - value);
  }

  /** The last state with at most `count` queued. */
  indexBelow(count: number): number {
    const counts = this.counts;
    if (count < EXACT_COUNTS && count < counts.length) return Math.floor(count);
    let low = Math.min(EXACT_COUNTS, counts.length - 1);
    let high = counts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((counts[middle] as number) <= count) low = middle;
      else high = middle;
    }
    return low;
  }
}

function countGrid(largestSize: number, steps: readonly number[]): Float64Array {
  const counts = new Set<number>();
  const largest = LARGEST_BATCHES * largestSize;
  for (let count = 0; count <= Math.min(EXACT_COUNTS, largest); count++) counts.add(count);
  for (let count = EXACT_COUNTS; count < largest; count = Math.ceil(count * PLAN_GRID_RATIO))
    counts.add(count);
  for (const step of steps) if (step > EXACT_COUNTS && step < largest) counts.add(step).add(step + 1);
  return Float64Array.from(counts.add(largest)).sort();
}
