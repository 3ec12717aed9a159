/**
 * Lets the policy of a method decide only when there is a permit of some backend for it, and none that is worth
 * waiting for: methods share the backends, and a batch that left too early could not grow any more while it waits.
 */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';
import type { InLine, PermitLine } from './permit-line.js';
import type { WaitingBatch } from './worth-waiting.js';

const HELD: Decision = { action: 'wait', until: Number.POSITIVE_INFINITY, wakeOnBatchEnd: true };

export class PermitPolicy implements Policy {
  readonly #policy: Policy;
  readonly #line: PermitLine;
  readonly #method: InLine;
  readonly #worthWaitingMs: (batch: WaitingBatch, now: number) => number;
  readonly #pausedMs: (view: QueueView, now: number) => number;

  constructor(
    policy: Policy,
    line: PermitLine,
    method: InLine,
    worthWaitingMs: (batch: WaitingBatch, now: number) => number,
    pausedMs: (view: QueueView, now: number) => number,
  ) {
    this.#policy = policy;
    this.#line = line;
    this.#method = method;
    this.#worthWaitingMs = worthWaitingMs;
    this.#pausedMs = pausedMs;
  }

  get name(): string {
    return this.#policy.name;
  }

  decide(view: QueueView, now: number): Decision {
    const pausedMs = this.#pausedMs(view, now);
    // It stays in line, where it may stand for another group.
    if (pausedMs > 0) return { action: 'wait', until: now + pausedMs, wakeOnBatchEnd: false };
    if (!this.#line.mayTake(this.#method)) return HELD;
    const { maxBatchSize } = view.limits;
    const size = Math.min(view.length, maxBatchSize);
    const waitMs = this.#worthWaitingMs({ size, ahead: view.length / maxBatchSize }, now);
    const decision: Decision =
      waitMs > 0
        ? { action: 'wait', until: now + waitMs, wakeOnBatchEnd: true }
        : this.#policy.decide(view, now);
    this.#line.leave(this.#method);
    return decision;
  }

  observeArrivals(count: number, at: number): void {
    this.#policy.observeArrivals?.(count, at);
  }

  observeBatch(batch: CompletedBatch, now: number): void {
    this.#policy.observeBatch?.(batch, now);
  }
}
