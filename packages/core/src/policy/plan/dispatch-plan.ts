/**
 * The best batch size for every state of the queue, found by dynamic programming: from the service
 * curve and the arrival rate alone, for arrivals that know nothing of each other (Poisson).
 *
 * With one slot and a cost that grows evenly, leaving with all that waits is as good as it gets. It is
 * not where the backend pads (33 take as long as 64: better 32 now, and one more later), where large
 * batches are slower per item, and where another slot will be free soon. What pays then depends on what
 * comes after, so the plan knows what each state is worth.
 *
 * A state is how much waits and how long the other slot is still busy. Its value is the waiting that
 * follows from it, beyond the average. Values are found by sweeping over all states again and again
 * (modified policy iteration), a few states at a time, so that planning never holds up the thread.
 */
import { type ArrivalOutcomes, arrivalOutcomes } from './arrival-outcomes.js';
import { PlanLookahead } from './plan-lookahead.js';
import { type PlanProblem, quickestSize, usualDuration } from './plan-problem.js';
import { LARGEST_BATCHES, PlanStates } from './plan-states.js';

/** Into how many steps the time that the other slot is busy is divided. */
const RESIDUALS = 16;
/** From so many batches on, whatever brought them together, only getting through counts. */
const BACKLOG = 2;

/** From so many batches of the usual size on, a queue is longer than it mostly is. */
const LONG_QUEUE = 4;
/** How much more than what comes must get done for a queue to become shorter soon. */
const KEEPS_UP = 1.1;

/** How much a plan may be worse than one for a similar problem. */
const MOST_GROWTH = 1.5;

const MOST_SWEEPS = 1000;
/** By how much more than is likely to wait, on average, no plan is off. */
const LOST = 100;
/** After so many looks for better decisions those that are left to be found hardly matter. */
const GOOD_IMPROVEMENTS = 8;
/** How many of them it takes to adapt a plan for a similar problem. */
const ADAPTATIONS = 3;
/** Sweeps between looks for better decisions; to follow those found so far is many times cheaper. */
const IMPROVE_EVERY = 8;
/** Better decisions can only be found by values that belong to the present ones: the average must stand this still. */
const STEADY = 0.003;
/** When values change by less, relative to the average, no decision worth mentioning would change. */
const SETTLED = 1e-3;
/** How much of an error of the average is put right in a sweep: more would overshoot, because values follow late. */
const CORRECTION = 0.15;

const NOBODY: ArrivalOutcomes = { arrived: [0], chance: [1] };

export class DispatchPlan {
  readonly #problem: PlanProblem;
  readonly #largestSize: number;
  /** The size that gets most done a millisecond. */
  readonly #quickest: number;
  readonly #states: PlanStates;
  readonly #rowOutcomes: readonly ArrivalOutcomes[];
  readonly #lookahead: PlanLookahead;
  readonly #choices: Float64Array;

  /** How much dearer a state is in a sweep that looks for better decisions. */
  readonly #improvingUnits: number;

  /** What a millisecond costs on average, the mean of what waits or runs, with the decisions it starts with. */
  #simpleAverage = Number.POSITIVE_INFINITY;
  /** Where it cannot be. */
  readonly #mostAverage: number;
  readonly #usualMs: number;
  readonly #usualState: number;
  readonly #longQueue: number;

  /** How much comes in a slot's turn, when the slots take turns. */
  readonly usualSize: number;
  /** Whether it began with another plan's values. */
  readonly isAdapted: boolean;

  #sweeps = 0;
  #nextState = 0;
  #improves = false;
  #sweepsSinceImproved = 0;
  #improvements = 0;
  #drift = 0;
  #leastChange = Number.POSITIVE_INFINITY;
  #largestChange = Number.NEGATIVE_INFINITY;

  /** A plan for nearly the same problem saves most of the work. */
  constructor(problem: PlanProblem, similar?: DispatchPlan) {
    const { maxBatchSize, slots, durationMs, ratePerMs } = problem;
    this.#problem = problem;
    this.#quickest = quickestSize(problem);
    const usualMs = usualDuration(problem, this.#quickest);
    const usualSize = (ratePerMs * usualMs) / slots;
    this.usualSize = usualSize;
    this.#usualMs = Math.max(usualMs, 1 / ratePerMs);
    this.#longQueue = LONG_QUEUE * Math.max(1, usualSize);
    this.#largestSize = Math.min(maxBatchSize, Math.ceil(LARGEST_BATCHES * usualSize) + 8);
    const rows = slots === 1 ? 1 : RESIDUALS;
    const stepMs = durationMs(this.#largestSize) / (RESIDUALS - 1);
    this.#states = new PlanStates(this.#largestSize, problem.steps, rows, stepMs, this.#drainPerMs);
    this.#rowOutcomes = Array.from({ length: rows }, (_, row) => arrivalOutcomes(ratePerMs * row * stepMs));
    const likelyAverage = 1.5 * ratePerMs * usualMs;
    this.#mostAverage = LOST * likelyAverage;
    this.#lookahead = new PlanLookahead(problem, this.#states, likelyAverage);
    this.#improvingUnits = 4 + problem.sizes.length / 2;
    this.#choices = new Float64Array(this.#states.size);
    this.#usualState = this.#states.stateOf(rows >> 1, this.#states.indexBelow(usualSize));
    this.isAdapted = similar !== undefined;
    if (similar === undefined || similar.#isLost) this.#startSimply();
    else this.#startFrom(similar);
  }

  get ratePerMs(): number {
    return this.#problem.ratePerMs;
  }

  /** What the backend could do at best, as far as was known. */
  get #mostPerMs(): number {
    const { slots, durationMs } = this.#problem;
    return (slots * this.#quickest) / durationMs(this.#quickest);
  }

  get isSolved(): boolean {
    return this.#sweeps >= MOST_SWEEPS;
  }

  /** Whether to go by it, even if it may still get a little better: it is good, and better than what it started with. */
  get isUseful(): boolean {
    const isGood = this.isSolved || this.#improvements >= GOOD_IMPROVEMENTS;
    return isGood && this.#lookahead.average > 0 && this.#lookahead.average <= 1.005 * this.#simpleAverage;
  }

  /** Does so much of the work: a unit is a fraction of a microsecond. */
  work(units: number): void {
    for (let left = units; left > 0 && !this.isSolved; left -= this.#improves ? this.#improvingUnits : 1)
      this.#advance();
  }

  /**
   * How much to dispatch now, 0 for waiting, when `count` waits and the other slot is busy for
   * `residualMs` more (0: it is free too, or there is none). More may come than was planned for: `ratePerMs`.
   */
  sizeFor(count: number, residualMs: number, ratePerMs = this.ratePerMs): number {
    if (count >= BACKLOG * this.#quickest) return this.#quickest;
    if (count >= LARGEST_BATCHES * this.#largestSize) return Math.min(count, this.#problem.maxBatchSize);
    // The states are few, and what they are worth can be read between them: not so what to do in them.
    const { size } = this.#lookahead.finest(count, residualMs, this.#arrivalsWithin(residualMs));
    return count > this.#longQueue ? Math.max(size, this.#sizeToKeepUp(count, ratePerMs)) : size;
  }

  #arrivalsWithin(residualMs: number): ArrivalOutcomes {
    return residualMs > 0 ? arrivalOutcomes(this.#problem.ratePerMs * residualMs) : NOBODY;
  }

  /** Queues so long are rare, and what is best for them known the less: whatever it is, they must not grow. */
  #sizeToKeepUp(count: number, ratePerMs: number): number {
    const { slots, sizes, durationMs } = this.#problem;
    const neededPerMs = Math.max(
      KEEPS_UP * ratePerMs,
      ratePerMs + this.#drainPerMs * (count / (BACKLOG * this.#quickest)),
    );
    for (const size of sizes) {
      if (size < count && slots * size >= neededPerMs * durationMs(size)) return size;
    }
    return Math.min(count, this.#quickest);
  }

  /** After how long, with nobody else coming, it would no longer wait; Infinity for not before the other slot is free. */
  waitMs(count: number, residualMs: number): number {
    for (let waited = this.#states.stepMs; waited < residualMs; waited += this.#states.stepMs) {
      const leftMs = residualMs - waited;
      if (this.#lookahead.best(count, leftMs, this.#arrivalsWithin(leftMs)).size > 0) return waited;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** Everything at once, as long as that gets more done. */
  #startSimply(): void {
    for (let state = 0; state < this.#states.size; state++) {
      const count = this.#states.countOf(state);
      this.#states.values[state] = (count * count) / (2 * this.#drainPerMs);
      this.#choices[state] = Math.min(count, this.#quickest);
    }
  }

  /** As the similar one does; but of a long queue as much as gets most done, for what keeps up with its traffic may not with this. */
  #startFrom(similar: DispatchPlan): void {
    const growth =
      (this.#problem.ratePerMs * this.#usualMs) / (similar.#problem.ratePerMs * similar.#usualMs);
    this.#improvements = Math.min(similar.#improvements, GOOD_IMPROVEMENTS - ADAPTATIONS);
    this.#lookahead.average = similar.#lookahead.average * growth;
    this.#simpleAverage = similar.#simpleAverage * growth * MOST_GROWTH;
    for (let state = 0; state < this.#states.size; state++) {
      const count = this.#states.countOf(state);
      const residualMs = this.#states.rowOf(state) * this.#states.stepMs;
      this.#states.values[state] = similar.#states.valueAt(count, residualMs);
      const choice = count > this.#longQueue ? this.#quickest : similar.#choiceAt(count, residualMs);
      this.#choices[state] = Math.min(choice, count);
    }
  }

  /** The choice in the nearest state below. */
  #choiceAt(count: number, residualMs: number): number {
    const row = Math.min(this.#states.rows - 1, Math.ceil(residualMs / this.#states.stepMs));
    return this.#choices[this.#states.stateOf(row, this.#states.indexBelow(count))] as number;
  }

  /** How fast a long queue gets shorter. */
  get #drainPerMs(): number {
    return Math.max(0.1 * this.#mostPerMs, this.#mostPerMs - this.ratePerMs);
  }

  // Finding the values

  #advance(): void {
    const state = this.#nextState++;
    const row = this.#states.rowOf(state);
    const count = this.#states.countOf(state);
    const residualMs = row * this.#states.stepMs;
    const meanwhile = this.#rowOutcomes[row] as ArrivalOutcomes;
    const { size, value } = this.#improves
      ? this.#lookahead.best(count, residualMs, meanwhile)
      : this.#lookahead.valueOf(this.#choices[state] as number, count, residualMs, meanwhile);
    this.#choices[state] = size;
    const change = value - (this.#states.values[state] as number);
    this.#states.values[state] = value;
    if (state === this.#usualState) this.#drift = change;
    this.#leastChange = Math.min(this.#leastChange, change);
    this.#largestChange = Math.max(this.#largestChange, change);
    if (this.#nextState === this.#states.size) this.#endSweep();
  }

  /** Values that go beyond all bounds come to nothing. */
  get #isLost(): boolean {
    return !(Math.abs(this.#lookahead.average) < this.#mostAverage);
  }

  #endSweep(): void {
    this.#sweeps += 1;
    this.#nextState = 0;
    // With the right average, values do not drift.
    this.#lookahead.average += (CORRECTION * this.#drift) / this.#usualMs;
    if (this.#isLost) this.#sweeps = MOST_SWEEPS;
    const unit = Math.abs(this.#lookahead.average) * this.#usualMs;
    const isSettled = this.#largestChange - this.#leastChange < SETTLED * unit;
    const isSteady = isSettled || Math.abs(this.#drift) < STEADY * unit;
    if (isSettled && this.#improves) this.#sweeps = MOST_SWEEPS;
    if (this.#improves) this.#improvements += 1;
    this.#sweepsSinceImproved = this.#improves ? 0 : this.#sweepsSinceImproved + 1;
    this.#improves = isSettled || (isSteady && this.#sweepsSinceImproved >= IMPROVE_EVERY);
    if (this.#improves && this.#simpleAverage === Number.POSITIVE_INFINITY)
      this.#simpleAverage = this.#lookahead.average;
    this.#largestChange = Number.NEGATIVE_INFINITY;
    this.#leastChange = Number.POSITIVE_INFINITY;
  }
}
