/** A backend as one batcher knows it: how long the batches of this batcher take there, and which of them hang. */
import type { RunningBatch } from '../batch/running-batch.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { CurveOwner } from '../learning/curve-owner.js';
import { CERTAIN_DEVIATIONS } from '../learning/service-curve.js';
import { type BackendView, type RunningWork, remainingMs } from '../policy/policy.js';
import type { SetMember } from './backend.js';
import type { BatchOutcome } from './backend-set.js';

/**
 * A batch is overdue if it takes 25 % longer than expected, or by three times the standard deviation if that is more. A
 * batch that is not overdue when its last caller is cancelled or expires is no failure of the backend.
 */
const MIN_MARGIN = 0.25;
/** A backend that has never answered may keep callers waiting for this long in total. */
const MAX_UNANSWERED_MS = 1000;

/** Its own curve is learned from answered batches only: abandoned ones would make a backend that hangs look normal. */
export class LearnedBackend extends CurveOwner implements BackendView {
  readonly member: SetMember;
  /** When a batch last succeeded there. */
  answeredAt = Number.NEGATIVE_INFINITY;
  readonly #dispatcher: Dispatcher;
  #unansweredMs = 0;

  constructor(member: SetMember, dispatcher: Dispatcher) {
    super(dispatcher.curve);
    this.member = member;
    this.#dispatcher = dispatcher;
  }

  get id(): string {
    return this.member.id;
  }

  get slots(): number {
    return this.member.slots;
  }

  get freeSlots(): number {
    return this.member.freeSlots;
  }

  get running(): readonly RunningWork[] {
    return this.member.running.filter(({ dispatcher }) => dispatcher === this.#dispatcher);
  }

  /** When a prefetched batch is expected to start. */
  startOfNext(now: number): number {
    return now + this.#aheadMs(now) / this.slots;
  }

  /** How long a batch that starts now is expected to take, and when it is overdue. */
  expect(batch: RunningBatch, now: number): void {
    batch.expectedMs = this.curve.mean(batch.cost);
    const { own } = this;
    const ownMs = own?.mean(batch.cost);
    if (own === undefined || ownMs === undefined || !this.#hasAnswered) return;
    const margin = 1 + Math.max(MIN_MARGIN, CERTAIN_DEVIATIONS * own.variation);
    batch.dueAt = now + margin * (this.#aheadMs(now) + ownMs);
  }

  override record(cost: number, durationMs: number, now: number): void {
    super.record(cost, durationMs, now);
    this.answeredAt = now;
    this.#unansweredMs = 0;
  }

  /** The outcome of a batch whose callers were all cancelled or expired. */
  outcomeWithoutCallers({ startedAt, dueAt }: RunningBatch, now: number): BatchOutcome {
    if (dueAt !== undefined) return now > dueAt ? 'failed' : 'forgotten';
    if (this.#hasAnswered) return 'forgotten';
    this.#unansweredMs += now - startedAt;
    return this.#unansweredMs > MAX_UNANSWERED_MS ? 'failed' : 'forgotten';
  }

  get #hasAnswered(): boolean {
    return this.answeredAt !== Number.NEGATIVE_INFINITY;
  }

  /** The remaining time of all batches that run there: they may have to finish first. */
  #aheadMs(now: number): number {
    let aheadMs = 0;
    for (const batch of this.member.running) aheadMs += Math.max(0, remainingMs(batch, now, this.curve) ?? 0);
    return aheadMs;
  }
}
