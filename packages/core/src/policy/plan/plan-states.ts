/**
 * The states of a dispatch plan and what each is worth: so much waits, and the other slot is busy for so
 * much longer. Between two states the worth is in proportion.
 */
/** Up to this many, every number of waiting items is a state of its own; beyond, each that is this much larger. */
const EXACT_COUNTS = 24;
const COUNT_STEP = 1.12;
/** How much may wait, in batches as large as are to be expected; beyond, it is only a question of getting through. */
export const LARGEST_BATCHES = 3;

export class PlanStates {
  /** How much waits, rising. */
  readonly counts: Float64Array;
  /** For how many steps the other slot is busy, 0 being: it is free. One row when there is no other. */
  readonly rows: number;
  readonly stepMs: number;
  /** What each is worth, row by row. */
  readonly values: Float64Array;
  /** What lies beyond the last count is read from it and this one: from the very next, a small error would become a large one. */
  readonly #beforeLast: number;
  /** A long queue is worth the square of its length, for it is worked off at a steady pace: how much that bends. */
  readonly #bend: number;

  constructor(
    largestSize: number,
    steps: readonly number[],
    rows: number,
    stepMs: number,
    drainPerMs: number,
  ) {
    this.counts = countGrid(largestSize, steps);
    this.#beforeLast = this.indexBelow((this.counts.at(-1) as number) / COUNT_STEP);
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

  /** Between two states, in proportion; beyond the last, as the value grew before it, and more and more. */
  valueAt(count: number, residualMs: number): number {
    const last = this.counts.length - 1;
    const largest = this.counts[last] as number;
    const isBeyond = count > largest;
    const index = isBeyond ? this.#beforeLast : Math.min(this.indexBelow(count), last - 1);
    const next = isBeyond ? last : index + 1;
    const left = this.counts[index] as number;
    const right = this.counts[next] as number;
    const share = (count - left) / (right - left);
    const inProportion = this.#valueInProportion(index, next, share, residualMs);
    return isBeyond ? inProportion + this.#bend * (count - right) * (count - left) : inProportion;
  }

  #valueInProportion(index: number, next: number, share: number, residualMs: number): number {
    const position = this.rows === 1 ? 0 : Math.min(this.rows - 1, residualMs / this.stepMs);
    const row = Math.floor(position);
    const value = this.#valueInRow(row, index, next, share);
    if (position === row) return value;
    return value + (position - row) * (this.#valueInRow(row + 1, index, next, share) - value);
  }

  #valueInRow(row: number, index: number, next: number, share: number): number {
    const first = row * this.counts.length;
    const value = this.values[first + index] as number;
    return value + share * ((this.values[first + next] as number) - value);
  }

  /** The last state with no more than `count` waiting. */
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
  for (let count = EXACT_COUNTS; count < largest; count = Math.ceil(count * COUNT_STEP)) counts.add(count);
  for (const step of steps) if (step > EXACT_COUNTS && step < largest) counts.add(step).add(step + 1);
  return Float64Array.from(counts.add(largest)).sort();
}
