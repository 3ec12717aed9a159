/**
 * Removes callers that get no result: cancelled, expired or rejected. Each is removed from the queue or its batch, then
 * counted, then settled, so that the state is consistent whatever the caller does when it is settled.
 *
 * Admitted items that have missed the target by the duration of one batch are rejected by a timer. The policy rejects
 * such items too, but only when it decides about their group. While all slots are busy, or other groups, tenants and
 * priorities are served first, that can take many times the target.
 */

import type { Ending } from '../batch/ledger.js';
import type { BatchwiseError } from '../errors/errors.js';
import { cancelledError, expiredError, missedDeadlineError } from '../errors/rejections.js';
import { ESTIMATE_FRESH_MS } from '../learning/service-curve.js';
import type { Entry, EntryRemoval } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import { predict } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

/** Shortest time between two sweeps, as a share of the limit: bounds the cost with thousands of groups. */
const SWEEP_INTERVAL = 1 / 32;
const NEVER = Number.POSITIVE_INFINITY;

export class Removal implements EntryRemoval {
  readonly #dispatcher: Dispatcher;
  #sweepAt = NEVER;
  #sweptAt = 0;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  cancel(entry: Entry, reason: unknown): void {
    this.#remove(entry, 'cancelled', cancelledError(this.#dispatcher.settings.name, reason));
  }

  expire(entry: Entry): void {
    this.#remove(entry, 'expired', expiredError(this.#dispatcher.settings.name));
  }

  /** When to sweep the queue for overdue items; Infinity while no queued item can become overdue. */
  nextSweepAt(): number {
    const { queue } = this.#dispatcher;
    // The limit changes with the settings and with what is learned.
    const limitMs = queue.length === 0 ? NEVER : this.#queueLimitMs();
    this.#sweepAt = Math.max(queue.noneBefore + limitMs, this.#sweptAt + limitMs * SWEEP_INTERVAL);
    return this.#sweepAt;
  }

  /** Rejects the overdue items if a sweep is due. */
  sweep(now: number): void {
    if (now < this.#sweepAt) return;
    this.#sweepAt = NEVER;
    this.#sweptAt = now;
    const { queue, placement } = this.#dispatcher;
    const { hasFreeSlot } = placement;
    for (const [group, callers] of queue.arrivedBy(now - this.#queueLimitMs())) {
      // A slot is free, and the policy holds the group on purpose: a window that is longer than the target.
      if (hasFreeSlot && group.isHeld && group.wakeAt !== NEVER) continue;
      this.#rejectLate(callers, group, now);
    }
    queue.noneBefore = queue.oldestAt;
  }

  /** How long an item may be queued; Infinity without a target, and until the first batch has been measured. */
  #queueLimitMs(): number {
    const { curve, isOpen, settings } = this.#dispatcher;
    const { admission, maxBatchSize, targetLatencyMs } = settings;
    if (!admission || !isOpen || targetLatencyMs === NEVER) return NEVER;
    const batch = curve.bestSize(maxBatchSize);
    return batch === undefined ? NEVER : targetLatencyMs + (curve.upper(batch.cost) as number);
  }

  /** Rejects all callers of these items. */
  rejectItems(entries: readonly Entry[], group: Group, now: number): void {
    for (const { shared } of entries) if (shared !== undefined) this.#dispatcher.sharedWorks.retire(shared);
    const callers = entries.flatMap((entry) => [...entry.callers]);
    this.#rejectLate(callers, group, now);
  }

  /** Rejects admitted callers that cannot be in time. Their `retryAfterMs` are spread over the duration of a batch. */
  #rejectLate(callers: readonly Entry[], group: Group, now: number): void {
    const [first] = callers;
    if (first === undefined) return;
    const dispatcher = this.#dispatcher;
    const { name, targetLatencyMs, maxBatchSize } = dispatcher.settings;
    const allowedMs = Math.min(targetLatencyMs, first.cohort?.timeoutMsOf(first) ?? NEVER);
    const prediction = predict(first.cost, dispatcher.queue.behindAll(group), allowedMs, dispatcher, now);
    const firstMs = prediction?.retryAfterMs ?? ESTIMATE_FRESH_MS;
    const stepMs = (dispatcher.curve.bestSize(maxBatchSize)?.durationMs ?? 0) / callers.length;
    for (const [i, caller] of callers.entries()) {
      if (!caller.settled) this.#remove(caller, 'refused', missedDeadlineError(name, firstMs + i * stepMs));
    }
  }

  /** Removes all callers of an entry. A caller that is settled may cancel others of them. */
  removeAll(entry: Entry, ending: Ending, error: BatchwiseError): void {
    // First, so that a settled caller cannot join the same computation again.
    if (entry.shared !== undefined) this.#dispatcher.sharedWorks.retire(entry.shared);
    for (const caller of [...entry.callers]) {
      if (!caller.settled) this.#remove(caller, ending, error);
    }
  }

  #remove(entry: Entry, ending: Ending, error: BatchwiseError): void {
    const { batch } = entry;
    const unwanted = this.#detach(entry);
    this.#dispatcher.ledger.end(entry, ending, error);
    if (batch !== undefined) {
      if (unwanted !== undefined) batch.unwanted(unwanted);
      batch.abortIfUnwanted();
    }
    this.#dispatcher.restIfIdle();
  }

  /** Removes a caller from the queue or its batch; returns the item if no other caller shares it. */
  #detach(entry: Entry): Entry | undefined {
    const { ledger, queue, sharedWorks } = this.#dispatcher;
    const { batch, shared } = entry;
    if (batch === undefined) ledger.queued -= 1;
    else {
      ledger.running -= 1;
      batch.callers -= 1;
    }
    if (shared !== undefined) {
      shared.callers.delete(entry);
      if (entry !== shared.carrier) entry.shared = undefined;
      if (shared.callers.size > 0) return undefined;
      sharedWorks.end(shared);
    }
    const carrier = shared?.carrier ?? entry;
    if (batch === undefined) queue.remove(carrier);
    return carrier;
  }
}
