/**
 * Lets a policy decide about a queue of which only the head is in this process. It is shown the backlog behind it, it
 * learns arrivals at the times when they reached Redis rather than when they were fetched, and when it wants more than
 * are here, they are fetched first.
 */
import { type CompletedBatch, type Decision, type Policy, type QueueView, Traffic } from 'batchwise';
import type { WholePolicy } from 'batchwise/internal';
import { BacklogView } from './backlog-view.js';

export interface Backlog {
  /** How many wait in Redis, as far as is known. */
  readonly waiting: number;
  /** Redis has not been asked since a slot became free: nothing is known of what came meanwhile. */
  readonly isStale?: boolean;
  /** More urgent items than any that are here wait in Redis, as far as is known. */
  readonly isMoreUrgent?: boolean;
  /** The policy would take so many of all that wait; Infinity for all. */
  wants(count: number): void;
  /** Fetches more; false when that is not possible now. The policy is asked again when they are here. */
  fetch(): boolean;
}

/** How long to wait for a fetch before what is here leaves without: when Redis does not answer. */
const PATIENCE_MS = 1000;

export class BacklogPolicy implements WholePolicy {
  readonly nextGroup: Policy['nextGroup'];
  /** What the batcher counts are fetches: arrivals are reported by `arrived()`. */
  readonly observeArrivals = undefined;
  readonly #policy: Policy;
  readonly #backlog: Backlog;
  readonly #isGrouped: boolean;
  readonly #maxWaitMs: number;
  readonly #traffic = new Traffic();
  #view: BacklogView | undefined = undefined;
  /** Batches that have ended since the policy was last told of arrivals, which may have come before. */
  #ended: { readonly batch: CompletedBatch; readonly at: number }[] = [];
  #toldAt = Number.NEGATIVE_INFINITY;
  #fetchingSince: number | undefined = undefined;

  /** `maxWaitMs` is kept here, and not by the batcher: what has waited that long still waits for a fetch. */
  constructor(policy: Policy, backlog: Backlog, isGrouped: boolean, maxWaitMs = Number.POSITIVE_INFINITY) {
    this.#policy = policy;
    this.nextGroup = policy.nextGroup?.bind(policy);
    this.#backlog = backlog;
    this.#isGrouped = isGrouped;
    this.#maxWaitMs = maxWaitMs;
  }

  get name(): string {
    return this.#policy.name;
  }

  /** Items have been fetched that came at these times, rising. */
  arrived(times: readonly number[]): void {
    for (let i = 0; i < times.length; ) {
      const at = Math.max(times[i] as number, this.#toldAt);
      let count = 1;
      while (i + count < times.length && (times[i + count] as number) <= at) count += 1;
      i += count;
      this.#tellEnded(at);
      this.#toldAt = at;
      this.#traffic.arrived(count, at);
      this.#policy.observeArrivals?.(count, at);
    }
  }

  observeBatch(batch: CompletedBatch, now: number): void {
    this.#ended.push({ batch, at: now });
  }

  decide(view: QueueView, now: number): Decision {
    this.#tellEnded(now);
    if (this.#backlog.isStale && this.#mayFetch(now)) return { action: 'wait', until: now + PATIENCE_MS };
    const waiting = this.#isGrouped ? 0 : this.#backlog.waiting;
    this.#view ??= new BacklogView(view, this.#traffic, this.#isGrouped);
    const shown = this.#view.show(view, waiting);
    const decision = this.#within(this.#policy.decide(shown, now), view, now);
    if (decision.action === 'wait') {
      this.#fetchingSince = undefined;
      return decision;
    }
    if (decision.action === 'reject') {
      // Only items that are here can be rejected.
      const positions = decision.positions.filter((position) => position < view.length);
      return positions.length > 0
        ? { action: 'reject', positions }
        : { action: 'wait', until: now + PATIENCE_MS };
    }
    this.#backlog.wants(decision.count < shown.length ? decision.count : Number.POSITIVE_INFINITY);
    const hasRoom = waiting > 0 && decision.count > view.length && view.cost < view.limits.maxBatchSize;
    if ((hasRoom || this.#backlog.isMoreUrgent) && this.#mayFetch(now)) {
      return { action: 'wait', until: now + PATIENCE_MS };
    }
    this.#fetchingSince = undefined;
    return { ...decision, count: Math.min(decision.count, view.length) };
  }

  /** Nothing is held for longer than `maxWaitMs`. */
  #within(decision: Decision, { oldestAt }: QueueView, now: number): Decision {
    const dueAt = oldestAt + this.#maxWaitMs;
    if (decision.action !== 'wait') return decision;
    if (now < dueAt) return { ...decision, until: Math.min(decision.until, dueAt) };
    return { action: 'dispatch', count: Number.POSITIVE_INFINITY, reason: 'window' };
  }

  prepare(now: number): void {
    this.#policy.prepare?.(now);
  }

  #mayFetch(now: number): boolean {
    this.#fetchingSince ??= now;
    return now < this.#fetchingSince + PATIENCE_MS && this.#backlog.fetch();
  }

  /** In the order in which things happened. */
  #tellEnded(until: number): void {
    while (this.#ended.length > 0) {
      const { batch, at } = this.#ended[0] as { batch: CompletedBatch; at: number };
      if (at > until) return;
      this.#ended.shift();
      this.#toldAt = Math.max(this.#toldAt, at);
      this.#traffic.batchEnded(batch, at);
      this.#policy.observeBatch?.(batch, at);
    }
  }
}
