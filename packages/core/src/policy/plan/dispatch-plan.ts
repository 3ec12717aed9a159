/**
 * The batch size with the least mean latency for every state of the queue, found by dynamic programming from the service
 * curve and the arrival rate, for Poisson arrivals.
 *
 * With one slot and a duration that grows evenly, it is optimal to dispatch everything. It is not where the backend pads
 * (33 items take as long as 64: better 32 now, and the other one later), where large batches are slower per item, and
 * where another slot will be free soon.
 *
 * A state is the queued cost and the time until the other slot is free. Its value is the waiting that follows from it,
 * beyond the average. Values are found by modified policy iteration, a few states at a time, so that planning never
 * blocks the thread.
 */
import { PlanLookahead } from './plan-lookahead.js';
import {
  type ArrivalOutcomes,
  arrivalOutcomes,
  LARGEST_BATCHES,
  type PlanProblem,
  PlanStates,
  PRECISION,
  usualDuration,
} from './plan-states.js';

/** Steps into which the time until the other slot is free is divided. */
const RESIDUALS = 16;
/** The share of a rising rate that counts, and the load at which a long queue becomes shorter. */
export const CAUTION = 0.9;
/** Batches of the best size from which only throughput counts. */
export const BACKLOG = 2;

/** Beyond the largest usual batch, for light traffic. */
const SPARE_SIZE = 8;
/** Batches of the usual size from which a queue is rare, and its values uncertain. */
const LONG_QUEUE = 4;

const MOST_SWEEPS = 1000;
/** The queue to expect, in arrivals during a usual batch: where the iteration starts. */
const LIKELY_QUEUE = 1.5;
/** The least rate at which a long queue becomes shorter, as a share of the capacity. */
const MIN_DRAIN = 0.1;
/** The multiple of the likely average above which the iteration has diverged. */
const DIVERGED_FACTOR = 100;
/** Policy improvements after which a plan is good enough to use. */
const GOOD_IMPROVEMENTS = 8;
/** Improvements that adapt a plan for a similar problem. */
const ADAPTATIONS = 3;
/** Sweeps between improvements: evaluating the present decisions is many times cheaper. */
const IMPROVE_EVERY = 8;
/** The share of the average's error that a sweep corrects: more would overshoot. */
const CORRECTION = 0.15;

export class DispatchPlan {
  readonly #problem: PlanProblem;
  readonly #largestSize: number;
  readonly #states: PlanStates;
  readonly #rowOutcomes: readonly ArrivalOutcomes[];
  readonly #lookahead: PlanLookahead;
  readonly #choices: Float64Array;

  /** The cost of a state in an improving sweep, in states of an evaluating one: as measured. */
  readonly #improvingUnits: number;

  /** The bound of the average beyond which the iteration has diverged. */
  readonly #mostAverage: number;
  readonly #usualMs: number;
  readonly #usualState: number;
  readonly #longQueue: number;

  /** The cost that arrives in a slot's turn when the slots take turns. */
  readonly usualSize: number;

  #sweeps = 0;
  #nextState = 0;
  #improves = false;
  #sweepsSinceImproved = 0;
  #improvements = 0;
  #drift = 0;
  #leastChange = Number.POSITIVE_INFINITY;
  #largestChange = Number.NEGATIVE_INFINITY;

  /** Starting from a plan for a similar problem saves most of the work. */
  constructor(problem: PlanProblem, similar?: DispatchPlan) {
    const { maxBatchSize, slots, durationMs, ratePerMs } = problem;
    this.#problem = problem;
    const usualMs = usualDuration(problem);
    const usualSize = (ratePerMs * usualMs) / slots;
    this.usualSize = usualSize;
    this.#usualMs = Math.max(usualMs, 1 / ratePerMs);
    this.#longQueue = LONG_QUEUE * Math.max(1, usualSize);
    this.#largestSize = Math.min(maxBatchSize, Math.ceil(LARGEST_BATCHES * usualSize) + SPARE_SIZE);
    const rows = slots === 1 ? 1 : RESIDUALS;
    const stepMs = durationMs(this.#largestSize) / (RESIDUALS - 1);
    this.#states = new PlanStates(this.#largestSize, problem.steps, rows, stepMs, this.#drainPerMs);
    this.#rowOutcomes = Array.from({ length: rows }, (_, row) => arrivalOutcomes(ratePerMs * row * stepMs));
    const likelyAverage = LIKELY_QUEUE * ratePerMs * usualMs;
    this.#mostAverage = DIVERGED_FACTOR * likelyAverage;
    this.#lookahead = new PlanLookahead(problem, this.#states, likelyAverage);
    this.#improvingUnits = 4 + problem.sizes.length / 2;
    this.#choices = new Float64Array(this.#states.size);
    this.#usualState = this.#states.stateOf(rows >> 1, this.#states.indexBelow(usualSize));
    if (similar === undefined || similar.#hasDiverged) this.#startSimply();
    else this.#startFrom(similar);
  }

  get ratePerMs(): number {
    return this.#problem.ratePerMs;
  }

  /** The capacity of all slots. */
  get #mostPerMs(): number {
    const { slots, durationMs } = this.#problem;
    return (slots * this.#problem.bestSize) / durationMs(this.#problem.bestSize);
  }

  get isSolved(): boolean {
    return this.#sweeps >= MOST_SWEEPS;
  }

  /** Whether it is good enough to use. */
  get isUseful(): boolean {
    const isGood = this.isSolved || this.#improvements >= GOOD_IMPROVEMENTS;
    return isGood && this.#lookahead.average > 0 && !this.#hasDiverged;
  }

  /** Computes a little further: a unit is a fraction of a microsecond. */
  work(units: number): void {
    for (let left = units; left > 0 && !this.isSolved; left -= this.#improves ? this.#improvingUnits : 1)
      this.#advance();
  }

  /**
   * The cost to dispatch, 0 to wait, with this cost queued and the other slot busy for `residualMs` more (0: it is free
   * too, or there is none). More may arrive than was planned for: `ratePerMs`.
   */
  sizeFor(queued: number, residualMs: number, ratePerMs = this.ratePerMs): number {
    if (queued >= BACKLOG * this.#problem.bestSize) return this.#problem.bestSize;
    if (queued >= LARGEST_BATCHES * this.#largestSize) return Math.min(queued, this.#problem.maxBatchSize);
    // Values can be interpolated between states, decisions cannot.
    this.#lookahead.decideFinely(queued, residualMs, arrivalOutcomes(this.ratePerMs * residualMs));
    const { size } = this.#lookahead;
    return queued > this.#longQueue ? Math.max(size, this.#sizeToKeepUp(queued, ratePerMs)) : size;
  }

  /** The smallest size with which a long queue becomes shorter. */
  #sizeToKeepUp(queued: number, ratePerMs: number): number {
    const { slots, sizes, durationMs } = this.#problem;
    const neededPerMs = Math.max(
      ratePerMs / CAUTION,
      ratePerMs + this.#drainPerMs * (queued / (BACKLOG * this.#problem.bestSize)),
    );
    for (const size of sizes) {
      if (size < queued && slots * size >= neededPerMs * durationMs(size)) return size;
    }
    return Math.min(queued, this.#problem.bestSize);
  }

  /** After what time without arrivals it would dispatch; Infinity for not before the other slot is free. */
  waitMs(queued: number, residualMs: number): number {
    for (let waited = this.#states.stepMs; waited < residualMs; waited += this.#states.stepMs) {
      const leftMs = residualMs - waited;
      this.#lookahead.decide(queued, leftMs, arrivalOutcomes(this.ratePerMs * leftMs));
      if (this.#lookahead.size > 0) return waited;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Starts with: everything at once, up to the best size. */
  #startSimply(): void {
    for (let state = 0; state < this.#states.size; state++) {
      const queued = this.#states.queuedIn(state);
      this.#states.values[state] = (queued * queued) / (2 * this.#drainPerMs);
      this.#choices[state] = Math.min(queued, this.#problem.bestSize);
    }
  }

  /**
   * Starts with the decisions of the similar plan, but for long queues with the best size: what keeps up with its traffic
   * may not keep up with this.
   */
  #startFrom(similar: DispatchPlan): void {
    const growth =
      (this.#problem.ratePerMs * this.#usualMs) / (similar.#problem.ratePerMs * similar.#usualMs);
    this.#improvements = Math.min(similar.#improvements, GOOD_IMPROVEMENTS - ADAPTATIONS);
    this.#lookahead.average = similar.#lookahead.average * growth;
    for (let state = 0; state < this.#states.size; state++) {
      const queued = this.#states.queuedIn(state);
      const residualMs = this.#states.rowOf(state) * this.#states.stepMs;
      this.#states.values[state] = similar.#states.valueAt(queued, residualMs);
      const choice =
        queued > this.#longQueue ? this.#problem.bestSize : similar.#choiceAt(queued, residualMs);
      this.#choices[state] = Math.min(choice, queued);
    }
  }

  /** The choice in the nearest state below. */
  #choiceAt(queued: number, residualMs: number): number {
    const row = Math.min(this.#states.rows - 1, Math.ceil(residualMs / this.#states.stepMs));
    return this.#choices[this.#states.stateOf(row, this.#states.indexBelow(queued))] as number;
  }

  /** The rate at which a long queue becomes shorter. */
  get #drainPerMs(): number {
    return Math.max(MIN_DRAIN * this.#mostPerMs, this.#mostPerMs - this.ratePerMs);
  }

  // Finding the values

  #advance(): void {
    const state = this.#nextState++;
    const row = this.#states.rowOf(state);
    const queued = this.#states.queuedIn(state);
    const residualMs = row * this.#states.stepMs;
    const meanwhile = this.#rowOutcomes[row] as ArrivalOutcomes;
    if (this.#improves) this.#lookahead.decide(queued, residualMs, meanwhile);
    else this.#lookahead.evaluate(this.#choices[state] as number, queued, residualMs, meanwhile);
    const { size, value } = this.#lookahead;
    this.#choices[state] = size;
    const change = value - (this.#states.values[state] as number);
    this.#states.values[state] = value;
    if (state === this.#usualState) this.#drift = change;
    this.#leastChange = Math.min(this.#leastChange, change);
    this.#largestChange = Math.max(this.#largestChange, change);
    if (this.#nextState === this.#states.size) this.#endSweep();
  }

  /** Whether the iteration has diverged. */
  get #hasDiverged(): boolean {
    return !(Math.abs(this.#lookahead.average) < this.#mostAverage);
  }

  #endSweep(): void {
    this.#sweeps += 1;
    this.#nextState = 0;
    // With the right average, values do not drift.
    this.#lookahead.average += (CORRECTION * this.#drift) / this.#usualMs;
    if (this.#hasDiverged) this.#sweeps = MOST_SWEEPS;
    const unit = Math.abs(this.#lookahead.average) * this.#usualMs;
    const isSettled = this.#largestChange - this.#leastChange < PRECISION * unit;
    if (isSettled && this.#improves) this.#sweeps = MOST_SWEEPS;
    if (this.#improves) this.#improvements += 1;
    this.#sweepsSinceImproved = this.#improves ? 0 : this.#sweepsSinceImproved + 1;
    this.#improves = isSettled || this.#sweepsSinceImproved >= IMPROVE_EVERY;
    this.#largestChange = Number.NEGATIVE_INFINITY;
    this.#leastChange = Number.POSITIVE_INFINITY;
  }
}
