/**
 * The best decision in a state of a dispatch plan: every candidate size, and waiting, costs the waiting until the next
 * decision and the value of the state that it leads to.
 */
import { type ArrivalOutcomes, arrivalOutcomes } from './arrival-outcomes.js';
import type { PlanProblem } from './plan-problem.js';
import type { PlanStates } from './plan-states.js';

/** A batch that may be dispatched, its duration, and the arrivals meanwhile. */
interface Candidate {
  readonly size: number;
  readonly durationMs: number;
  readonly outcomes: ArrivalOutcomes;
}

/** A decision and its value. */
export interface Choice {
  /** The cost to dispatch; 0 to wait. */
  size: number;
  value: number;
}

/** The distance from the best candidate size within which a better one may lie, as a share of it. */
const BETWEEN = 1 / 8;

export class PlanLookahead {
  readonly #problem: PlanProblem;
  readonly #states: PlanStates;
  readonly #candidates: readonly Candidate[];
  readonly #everything = new Map<number, Candidate>();
  /** The average cost of a millisecond. */
  average: number;

  constructor(problem: PlanProblem, states: PlanStates, average: number) {
    this.#problem = problem;
    this.#states = states;
    this.#candidates = problem.sizes.map((size) => this.#candidate(size));
    this.average = average;
  }

  /** The best of the candidate sizes, of everything queued, and of waiting. */
  best(count: number, residualMs: number, meanwhile: ArrivalOutcomes): Readonly<Choice> {
    let bestSize = 0;
    let bestValue = Number.POSITIVE_INFINITY;
    if (count === 0 || residualMs > 0) {
      this.#evaluateWait(count, residualMs);
      bestValue = chosen.value;
    }
    if (count > 0) {
      const all = this.#candidateOf(Math.min(count, this.#problem.maxBatchSize));
      this.#evaluate(all, count, residualMs, meanwhile);
      if (chosen.value < bestValue) {
        bestValue = chosen.value;
        bestSize = all.size;
      }
    }
    for (const candidate of this.#candidates) {
      if (candidate.size >= count) break;
      this.#evaluate(candidate, count, residualMs, meanwhile);
      if (chosen.value < bestValue) {
        bestValue = chosen.value;
        bestSize = candidate.size;
      }
    }
    chosen.size = bestSize;
    chosen.value = bestValue;
    return chosen;
  }

  /** The same, with the sizes between the candidates. */
  finest(count: number, residualMs: number, meanwhile: ArrivalOutcomes): Readonly<Choice> {
    let { size: bestSize, value: bestValue } = this.best(count, residualMs, meanwhile);
    if (bestSize === 0) return chosen;
    const most = Math.min(count, this.#problem.maxBatchSize);
    for (let step = Math.floor(bestSize * BETWEEN); step >= 1; step >>= 1) {
      const middle = bestSize;
      for (let size = middle - step; size <= middle + step && size <= most; size += 2 * step) {
        this.#evaluate(this.#candidateOf(size), count, residualMs, meanwhile);
        if (chosen.value < bestValue) {
          bestValue = chosen.value;
          bestSize = size;
        }
      }
    }
    chosen.size = bestSize;
    chosen.value = bestValue;
    return chosen;
  }

  /** The value of a given decision. */
  valueOf(size: number, count: number, residualMs: number, meanwhile: ArrivalOutcomes): Readonly<Choice> {
    if (size === 0) this.#evaluateWait(count, residualMs);
    else this.#evaluate(this.#candidateOf(size), count, residualMs, meanwhile);
    return chosen;
  }

  #evaluate(candidate: Candidate, count: number, residualMs: number, meanwhile: ArrivalOutcomes): void {
    const { size, durationMs, outcomes } = candidate;
    const left = count - size;
    chosen.size = size;
    chosen.value = size * durationMs;
    if (this.#states.rows === 1) chosen.value += this.#until(durationMs, outcomes, left, 0);
    // Both slots were free: one still is, and the next decision is due at once.
    else if (residualMs === 0) chosen.value += this.#states.valueAt(left, durationMs);
    else if (durationMs < residualMs) {
      chosen.value += this.#until(durationMs, outcomes, left, residualMs - durationMs);
    } else chosen.value += this.#until(residualMs, meanwhile, left, durationMs - residualMs);
  }

  /** The waiting until the next decision, and the value of the state then. */
  #until(elapsedMs: number, { arrived, chance }: ArrivalOutcomes, count: number, residualMs: number): number {
    let value = (count - this.average + (this.#problem.ratePerMs * elapsedMs) / 2) * elapsedMs;
    for (let i = 0; i < arrived.length; i++) {
      value += (chance[i] as number) * this.#states.valueAt(count + (arrived[i] as number), residualMs);
    }
    return value;
  }

  /** Until an item arrives, or a step has passed and the other slot is that much closer to being free. */
  #evaluateWait(count: number, residualMs: number): void {
    const { ratePerMs } = this.#problem;
    chosen.size = 0;
    if (residualMs === 0) {
      chosen.value = (count - this.average) / ratePerMs + this.#states.valueAt(count + 1, 0);
      return;
    }
    const stepMs = Math.min(this.#states.stepMs, residualMs);
    const noArrival = Math.exp(-ratePerMs * stepMs);
    const elapsedMs = (1 - noArrival) / ratePerMs;
    // The mean arrival time within the step.
    const arrivesAfterMs = 1 / ratePerMs - (stepMs * noArrival) / (1 - noArrival);
    chosen.value =
      (count - this.average) * elapsedMs +
      (1 - noArrival) * this.#states.valueAt(count + 1, residualMs - arrivesAfterMs) +
      noArrival * this.#states.valueAt(count, residualMs - stepMs);
  }

  #candidateOf(size: number): Candidate {
    let candidate = this.#everything.get(size);
    if (candidate === undefined) {
      candidate = this.#candidate(size);
      // Fractional costs would never repeat.
      if (Number.isInteger(size)) this.#everything.set(size, candidate);
    }
    return candidate;
  }

  #candidate(size: number): Candidate {
    const durationMs = this.#problem.durationMs(size);
    return { size, durationMs, outcomes: arrivalOutcomes(this.#problem.ratePerMs * durationMs) };
  }
}

/** The latest decision: one object, because there are millions. */
const chosen: Choice = { size: 0, value: 0 };
