/** Holds batches of a throttled tenant, and otherwise leaves the decision to another policy. */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';
import type { WholePolicy } from 'batchwise/internal';
import type { Tenants } from './tenants.js';

export class ThrottlingPolicy implements WholePolicy {
  readonly nextGroup: Policy['nextGroup'];
  readonly #policy: Policy;
  readonly #tenants: Tenants;

  constructor(policy: Policy, tenants: Tenants) {
    this.#policy = policy;
    this.#tenants = tenants;
    this.nextGroup = policy.nextGroup?.bind(policy);
  }

  get name(): string {
    return this.#policy.name;
  }

  decide(view: QueueView, now: number): Decision {
    const throttledMs = this.#throttledMs(view, now);
    if (throttledMs > 0) return { action: 'wait', until: now + throttledMs, wakeOnBatchEnd: false };
    return this.#policy.decide(view, now);
  }

  observeArrivals(count: number, at: number): void {
    this.#policy.observeArrivals?.(count, at);
  }

  observeBatch(batch: CompletedBatch, now: number): void {
    this.#policy.observeBatch?.(batch, now);
  }

  prepare(now: number): void {
    this.#policy.prepare?.(now);
  }

  /** Only a batch of a single tenant is throttled, so that the other tenants of a batch are not held. */
  #throttledMs(view: QueueView, now: number): number {
    const id = view.tenantAt?.(0);
    const throttledMs = this.#tenants.throttledMs(id, now);
    const maxPositions = Math.min(view.length, view.limits.maxBatchSize);
    for (let i = 1; throttledMs > 0 && i < maxPositions; i++) if (view.tenantAt?.(i) !== id) return 0;
    return throttledMs;
  }
}
