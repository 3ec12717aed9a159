/** Records arrivals and batches: in curves and traffic, also those of groups and backends, and in the policy. */

import type { RunningBatch } from '../batch/running-batch.js';
import type { CompletedBatch } from '../policy/policy.js';
import type { Dispatcher } from './dispatcher.js';

export class Learning {
  readonly #dispatcher: Dispatcher;
  /** Arrivals by group since they were last recorded. */
  readonly #arrivedIn = new Map<unknown, number>();

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Counts an arrival. Rejected items count, because they are part of the load; callers that share an item do not. */
  offered(groupKey: unknown): void {
    const { turn, settings } = this.#dispatcher;
    turn.arrived(1);
    if (settings.groupOf === undefined) return;
    this.#arrivedIn.set(groupKey, (this.#arrivedIn.get(groupKey) ?? 0) + 1);
  }

  recordArrivals(): void {
    const { turn, traffic, groups, settings } = this.#dispatcher;
    const moment = turn.endMoment();
    if (moment === undefined) return;
    traffic.arrived(moment.arrivals, moment.at);
    for (const [group, count] of this.#arrivedIn) groups.arrived(group, count, moment.at);
    this.#arrivedIn.clear();
    const { policy } = settings;
    if (policy.observeArrivals === undefined) return;
    this.notifyPolicy(() => policy.observeArrivals?.(moment.arrivals, moment.at));
  }

  /** A call of the handler succeeded: its duration is learned. */
  learn(call: CompletedBatch, { group, runsOn }: RunningBatch, now: number): void {
    this.recordArrivals(); // events are recorded in the order of time
    const { placement, groups, curve, traffic, settings } = this.#dispatcher;
    if (runsOn !== undefined) placement.learn(runsOn, call.cost, call.durationMs, now);
    if (settings.groupOf !== undefined) groups.batchEnded(group, call, now);
    curve.record(call.cost, call.durationMs, now);
    traffic.batchEnded(call, now);
    const { policy } = settings;
    if (policy.observeBatch !== undefined) this.notifyPolicy(() => policy.observeBatch?.(call, now));
  }

  /** A call of the handler was abandoned after `elapsedMs`. */
  learnAtLeast(cost: number, group: unknown, elapsedMs: number, now: number): void {
    const { groups, curve, settings } = this.#dispatcher;
    if (settings.groupOf !== undefined) groups.learnAtLeast(group, cost, elapsedMs, now);
    curve.recordAtLeast(cost, elapsedMs, now);
  }

  padTo(batchSizes: readonly number[]): void {
    const { placement, groups, curve } = this.#dispatcher;
    curve.padTo(batchSizes);
    groups.padTo(batchSizes);
    placement.padTo(batchSizes);
  }

  notifyPolicy(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.#dispatcher.ledger.policyFailed(error);
    }
  }
}
