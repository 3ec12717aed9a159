/**
 * What is best to do in a state of a dispatch plan: every batch that might leave, and leaving with none, is
 * judged by what it costs until the next decision is due, and by what the state is worth that it leads to.
 */
import { type ArrivalOutcomes, arrivalOutcomes } from './arrival-outcomes.js';
import type { PlanProblem } from './plan-problem.js';
import type { PlanStates } from './plan-states.js';

/** A batch that may leave: how long it takes and how much may come meanwhile. */
interface Candidate {
  readonly size: number;
  readonly durationMs: number;
  readonly outcomes: ArrivalOutcomes;
}

/** Something to do and what it comes to. */
export interface Choice {
  /** How much leaves; 0 for waiting. */
  size: number;
  value: number;
}

/** How far from the best of the sizes to consider a better one may lie between them, as a share of it. */
const BETWEEN = 1 / 8;

export class PlanLookahead {
  readonly #problem: PlanProblem;
  readonly #states: PlanStates;
  readonly #candidates: readonly Candidate[];
  readonly #allThatWaits = new Map<number, Candidate>();
  /** What a millisecond costs on average. */
  average: number;

  constructor(problem: PlanProblem, states: PlanStates, average: number) {
    this.#problem = problem;
    this.#states = states;
    this.#candidates = problem.sizes.map((size) => this.#candidate(size));
    this.average = average;
  }

  /** The best of the sizes to consider, of all that waits and of waiting, when the other slot is busy for so long and so much may come meanwhile. */
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

  /** The same, and between the sizes to consider too. */
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

  /** What it comes to when so much leaves now, or nothing. */
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
    // Both slots were free: now one is, and the next decision is due at once.
    else if (residualMs === 0) chosen.value += this.#states.valueAt(left, durationMs);
    else if (durationMs < residualMs) {
      chosen.value += this.#until(durationMs, outcomes, left, residualMs - durationMs);
    } else chosen.value += this.#until(residualMs, meanwhile, left, durationMs - residualMs);
  }

  /** What follows when the next decision is due after so long: the waiting until then, and what it will be worth then. */
  #until(elapsedMs: number, { arrived, chance }: ArrivalOutcomes, count: number, residualMs: number): number {
    let value = (count - this.average + (this.#problem.ratePerMs * elapsedMs) / 2) * elapsedMs;
    for (let i = 0; i < arrived.length; i++) {
      value += (chance[i] as number) * this.#states.valueAt(count + (arrived[i] as number), residualMs);
    }
    return value;
  }

  /** Until somebody comes, or a step is over and the other slot that much nearer to be free. */
  #evaluateWait(count: number, residualMs: number): void {
    const { ratePerMs } = this.#problem;
    chosen.size = 0;
    if (residualMs === 0) {
      chosen.value = (count - this.average) / ratePerMs + this.#states.valueAt(count + 1, 0);
      return;
    }
    const stepMs = Math.min(this.#states.stepMs, residualMs);
    const nobody = Math.exp(-ratePerMs * stepMs);
    const elapsedMs = (1 - nobody) / ratePerMs;
    // When somebody comes within the step, then so long after its begin.
    const comesAfterMs = 1 / ratePerMs - (stepMs * nobody) / (1 - nobody);
    chosen.value =
      (count - this.average) * elapsedMs +
      (1 - nobody) * this.#states.valueAt(count + 1, residualMs - comesAfterMs) +
      nobody * this.#states.valueAt(count, residualMs - stepMs);
  }

  #candidateOf(size: number): Candidate {
    let candidate = this.#allThatWaits.get(size);
    if (candidate === undefined) {
      candidate = this.#candidate(size);
      // Of costs that are fractions there is no end.
      if (Number.isInteger(size)) this.#allThatWaits.set(size, candidate);
    }
    return candidate;
  }

  #candidate(size: number): Candidate {
    const durationMs = this.#problem.durationMs(size);
    return { size, durationMs, outcomes: arrivalOutcomes(this.#problem.ratePerMs * durationMs) };
  }
}

/** The latest choice and what it comes to: one object, because there are millions of them. */
const chosen: Choice = { size: 0, value: 0 };
