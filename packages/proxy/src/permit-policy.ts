/**
 * Lets the policy of a method decide only when there is a permit of some backend for it: methods share the
 * backends, and a batch that left while all are busy could not grow any more while it waits.
 */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';
import type { InLine, PermitLine } from './permit-line.js';

const HELD: Decision = { action: 'wait', until: Number.POSITIVE_INFINITY, wakeOnBatchEnd: true };

export class PermitPolicy implements Policy {
  readonly #policy: Policy;
  readonly #line: PermitLine;
  readonly #method: InLine;

  constructor(policy: Policy, line: PermitLine, method: InLine) {
    this.#policy = policy;
    this.#line = line;
    this.#method = method;
  }

  get name(): string {
    return this.#policy.name;
  }

  decide(view: QueueView, now: number): Decision {
    if (!this.#line.mayTake(this.#method)) return HELD;
    const decision = this.#policy.decide(view, now);
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
