/** A policy that remembers what it was last asked about: for how long the oldest of a batch that starts has waited. */
import type { CompletedBatch, Decision, Policy, QueueView } from 'batchwise';

export class WatchedPolicy implements Policy {
  readonly #policy: Policy;
  #oldestAt = Number.POSITIVE_INFINITY;

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  get name(): string {
    return this.#policy.name;
  }

  /** Of the batch that has just started, at its start. A batch starts in the same breath as it is decided. */
  oldestWaitMs(now: number): number {
    return Math.max(0, now - this.#oldestAt);
  }

  decide(view: QueueView, now: number): Decision {
    this.#oldestAt = view.oldestAt;
    return this.#policy.decide(view, now);
  }

  observeArrivals(count: number, at: number): void {
    this.#policy.observeArrivals?.(count, at);
  }

  observeBatch(batch: CompletedBatch, now: number): void {
    this.#policy.observeBatch?.(batch, now);
  }
}
