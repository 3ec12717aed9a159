/**
 * Removes callers that get no result: cancelled, expired or rejected. Each is removed from the queue or its batch, then
 * counted, then settled, so that the state is consistent whatever the caller does when it is settled.
 */

import type { Ending } from '../batch/ledger.js';
import type { BatchwiseError } from '../errors/errors.js';
import { cancelledError, expiredError, missedDeadlineError } from '../errors/rejections.js';
import { ESTIMATE_FRESH_MS } from '../learning/service-curve.js';
import type { Entry, EntryRemoval } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import { predict } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

export class Removal implements EntryRemoval {
  readonly #dispatcher: Dispatcher;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  cancel(entry: Entry, reason: unknown): void {
    this.#remove(entry, 'cancelled', cancelledError(this.#dispatcher.settings.name, reason));
  }

  expire(entry: Entry): void {
    this.#remove(entry, 'expired', expiredError(this.#dispatcher.settings.name));
  }

  /** Rejects items that were admitted and can no longer be in time. */
  rejectItems(entries: readonly Entry[], group: Group, now: number): void {
    for (const [entry, error] of this.#lateErrors(entries, group, now))
      this.removeAll(entry, 'refused', error);
  }

  /** As `rejectItems`, but not the callers that share the items of these: they arrived later and may be in time. */
  rejectCallers(callers: readonly Entry[], group: Group, now: number): void {
    for (const [caller, error] of this.#lateErrors(callers, group, now)) {
      if (!caller.settled) this.#remove(caller, 'refused', error);
    }
  }

  /** Their `retryAfterMs` are spread over the duration of a batch. */
  #lateErrors(entries: readonly Entry[], group: Group, now: number): [Entry, BatchwiseError][] {
    const [first] = entries;
    if (first === undefined) return [];
    const dispatcher = this.#dispatcher;
    const { name, targetLatencyMs, maxBatchSize } = dispatcher.settings;
    const allowedMs = Math.min(targetLatencyMs, first.cohort?.timeoutMsOf(first) ?? Number.POSITIVE_INFINITY);
    const prediction = predict(first.cost, dispatcher.queue.behindAll(group), allowedMs, dispatcher, now);
    const firstMs = prediction?.retryAfterMs ?? ESTIMATE_FRESH_MS;
    const stepMs = (dispatcher.curve.bestSize(maxBatchSize)?.durationMs ?? 0) / entries.length;
    return entries.map((entry, i) => [entry, missedDeadlineError(name, firstMs + i * stepMs)]);
  }

  /** Removes all callers of an entry. A caller that is settled may cancel others of them. */
  removeAll(entry: Entry, ending: Ending, error: BatchwiseError): void {
    // First, so that a settled caller cannot join the same computation again.
    if (entry.shared !== undefined) this.#dispatcher.sharedWorks.retire(entry.shared);
    for (const caller of [...(entry.shared?.callers ?? [entry])]) {
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
