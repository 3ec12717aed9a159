/** One backend as one batcher uses it: how long the batches of this batcher take there, and which batches hang. */
import { CERTAIN_DEVIATIONS, type CurveEstimate, type ServiceCurve } from '../learning/service-curve.js';
import type { BackendView, RunningWork } from '../policy/policy.js';
import type { ScheduledBackend } from './backend.js';
import type { StartedBatch } from './backend-health.js';
import type { BatchOutcome } from './backend-set.js';
import type { Candidate, PlacedWork } from './choose-backend.js';

/** A batch on its backend. */
export interface Placed extends PlacedWork {
  readonly use: BackendUse;
  started: StartedBatch;
  startedAt: number;
  /** After this time a batch without an answer counts as a failure; undefined if no duration is known. */
  readonly dueAt: number | undefined;
}

/** Memory of how much longer batches take than the shared curve predicts, in batches. */
const RATIO_MEMORY = 16;
/**
 * A batch is overdue if it takes 25 % longer than expected, or by three times the standard deviation if that is more.
 * Callers that give up earlier say nothing about the backend.
 */
const MIN_MARGIN = 0.25;
/** A backend that has never answered may keep callers waiting for this long in total. */
const MAX_UNANSWERED_MS = 1000;

const NOT_STARTED: StartedBatch = { ejections: Number.NaN, isTrial: false };

export class BackendUse implements Candidate, BackendView {
  readonly backend: ScheduledBackend;
  /** The batches of this batcher that run there. */
  readonly running: RunningWork[] = [];
  /** The number of batches in `logRatio`. */
  compared = 0;
  /** Mean logarithm of duration ÷ prediction of the curve that all backends share. */
  logRatio = 0;
  answeredAt = Number.NEGATIVE_INFINITY;

  /** Learned from answered batches only: abandoned ones would make a backend that hangs look normal. */
  readonly #own: ServiceCurve;
  /** The curve of all backends together, until they turn out to be different. */
  #shared: ServiceCurve | undefined;
  #unansweredMs = 0;

  constructor(backend: ScheduledBackend, own: ServiceCurve, shared: ServiceCurve | undefined) {
    this.backend = backend;
    this.#own = own;
    this.#shared = shared;
  }

  get id(): string {
    return this.backend.id;
  }

  get slots(): number {
    return this.backend.slots;
  }

  get freeSlots(): number {
    return this.backend.freeSlots;
  }

  get work(): readonly PlacedWork[] {
    return this.backend.work;
  }

  get isTrialDue(): boolean {
    return this.backend.isTrialDue;
  }

  get doubtfulUntil(): number {
    return this.backend.health.doubtfulUntil;
  }

  get curve(): CurveEstimate {
    return this.#shared ?? this.#own;
  }

  get variation(): number {
    return this.#own.variation;
  }

  mean(cost: number): number | undefined {
    return this.curve.mean(cost);
  }

  /** Stops using the shared curve. */
  separate(): void {
    this.#shared = undefined;
  }

  padTo(batchSizes: readonly number[]): void {
    this.#own.padTo(batchSizes);
  }

  /** When a prefetched batch is expected to start. */
  startOfNext(now: number): number {
    return now + this.#aheadMs(now) / this.slots;
  }

  place(work: RunningWork, now: number): Placed {
    const { cost } = work;
    const expectedMs = this.#own.mean(cost);
    const margin = 1 + Math.max(MIN_MARGIN, CERTAIN_DEVIATIONS * this.#own.variation);
    const dueAt = expectedMs === undefined ? undefined : now + margin * (this.#aheadMs(now) + expectedMs);
    this.running.push(work);
    const { startedAt } = work;
    return { use: this, started: NOT_STARTED, startedAt, cost, expectedMs: this.mean(cost), dueAt };
  }

  ended(work: RunningWork): void {
    this.running.splice(this.running.indexOf(work), 1);
  }

  learn(cost: number, durationMs: number, sharedMs: number | undefined, now: number): void {
    this.#own.record(cost, durationMs, now);
    this.answeredAt = now;
    this.#unansweredMs = 0;
    if (this.#shared === undefined || sharedMs === undefined || !(sharedMs > 0) || !(durationMs > 0)) return;
    this.compared += 1;
    this.logRatio +=
      (Math.log(durationMs / sharedMs) - this.logRatio) / Math.min(this.compared, RATIO_MEMORY);
  }

  /** The outcome of a batch whose callers were all cancelled or expired. */
  outcomeWithoutCallers({ startedAt, dueAt }: Placed, now: number): BatchOutcome {
    if (dueAt !== undefined) return now > dueAt ? 'failed' : 'forgotten';
    if (this.#own.samples > 0) return 'forgotten';
    this.#unansweredMs += now - startedAt;
    return this.#unansweredMs > MAX_UNANSWERED_MS ? 'failed' : 'forgotten';
  }

  /** The remaining time of all batches that run there: they may have to finish first. */
  #aheadMs(now: number): number {
    let aheadMs = 0;
    for (const { startedAt, expectedMs = 0 } of this.work)
      aheadMs += Math.max(0, startedAt + expectedMs - now);
    return aheadMs;
  }
}
