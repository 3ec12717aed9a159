/**
 * The best decision in a state of a dispatch plan: every candidate size, and waiting, costs the waiting until the next
 * decision and the value of the state that it leads to.
 */
import { type ArrivalOutcomes, arrivalOutcomes, type PlanProblem, type PlanStates } from './plan-states.js';

/** A batch that may be dispatched, its duration, and the arrivals meanwhile. */
interface Candidate {
  readonly size: number;
  readonly durationMs: number;
  readonly outcomes: ArrivalOutcomes;
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
  /** The latest decision, which is the cost to dispatch or 0 to wait, and its value. There are millions of them. */
  size = 0;
  value = 0;

  constructor(problem: PlanProblem, states: PlanStates, average: number) {
    this.#problem = problem;
    this.#states = states;
    this.#candidates = problem.sizes.map((size) => this.#candidate(size));
    this.average = average;
  }

  /** Decides for the best of the candidate sizes, everything queued, and waiting. */
  decide(queued: number, residualMs: number, meanwhile: ArrivalOutcomes): void {
    this.size = 0;
    this.value =
      queued === 0 || residualMs > 0 ? this.#valueOfWait(queued, residualMs) : Number.POSITIVE_INFINITY;
    if (queued > 0) {
      const everything = Math.min(queued, this.#problem.maxBatchSize);
      this.#offer(this.#candidateOf(everything), queued, residualMs, meanwhile);
    }
    for (const candidate of this.#candidates) {
      if (candidate.size >= queued) break;
      this.#offer(candidate, queued, residualMs, meanwhile);
    }
  }

  /** Decides with the sizes between the candidates as well. */
  decideFinely(queued: number, residualMs: number, meanwhile: ArrivalOutcomes): void {
    this.decide(queued, residualMs, meanwhile);
    const most = Math.min(queued, this.#problem.maxBatchSize);
    for (let step = Math.floor(this.size * BETWEEN); step >= 1; step >>= 1) {
      const middle = this.size;
      for (let size = middle - step; size <= middle + step && size <= most; size += 2 * step)
        this.#offer(this.#candidateOf(size), queued, residualMs, meanwhile);
    }
  }

  /** Evaluates a given decision. */
  evaluate(size: number, queued: number, residualMs: number, meanwhile: ArrivalOutcomes): void {
    this.size = size;
    this.value =
      size === 0
        ? this.#valueOfWait(queued, residualMs)
        : this.#valueOf(this.#candidateOf(size), queued, residualMs, meanwhile);
  }

  #offer(candidate: Candidate, queued: number, residualMs: number, meanwhile: ArrivalOutcomes): void {
    const value = this.#valueOf(candidate, queued, residualMs, meanwhile);
    if (value >= this.value) return;
    this.value = value;
    this.size = candidate.size;
  }

  #valueOf(
    { size, durationMs, outcomes }: Candidate,
    queued: number,
    residualMs: number,
    meanwhile: ArrivalOutcomes,
  ): number {
    const left = queued - size;
    const ownMs = size * durationMs;
    if (this.#states.rows === 1) return ownMs + this.#until(durationMs, outcomes, left, 0);
    // Both slots were free: one still is, and the next decision is due at once.
    if (residualMs === 0) return ownMs + this.#states.valueAt(left, durationMs);
    return durationMs < residualMs
      ? ownMs + this.#until(durationMs, outcomes, left, residualMs - durationMs)
      : ownMs + this.#until(residualMs, meanwhile, left, durationMs - residualMs);
  }

  /** The waiting until the next decision, and the value of the state then. */
  #until(
    elapsedMs: number,
    { arrived, chance }: ArrivalOutcomes,
    queued: number,
    residualMs: number,
  ): number {
    let value = (queued - this.average + (this.#problem.ratePerMs * elapsedMs) / 2) * elapsedMs;
    for (let i = 0; i < arrived.length; i++) {
      value += (chance[i] as number) * this.#states.valueAt(queued + (arrived[i] as number), residualMs);
    }
    return value;
  }

  /** Until an item arrives, or a step has passed and the other slot is that much closer to being free. */
  #valueOfWait(queued: number, residualMs: number): number {
    const { ratePerMs } = this.#problem;
    if (residualMs === 0) return (queued - this.average) / ratePerMs + this.#states.valueAt(queued + 1, 0);
    const stepMs = Math.min(this.#states.stepMs, residualMs);
    const noArrival = Math.exp(-ratePerMs * stepMs);
    const elapsedMs = (1 - noArrival) / ratePerMs;
    // The mean arrival time within the step.
    const arrivesAfterMs = 1 / ratePerMs - (stepMs * noArrival) / (1 - noArrival);
    return (
      (queued - this.average) * elapsedMs +
      (1 - noArrival) * this.#states.valueAt(queued + 1, residualMs - arrivesAfterMs) +
      noArrival * this.#states.valueAt(queued, residualMs - stepMs)
    );
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
