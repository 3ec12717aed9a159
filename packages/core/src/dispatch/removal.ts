/**
 * Removes callers that get no result: cancelled, expired or rejected. Each is taken out of the queue or its
 * batch, then counted, then told: whatever a caller does when it is told, the state is consistent.
 */

import type { Ending } from '../batch/ledger.js';
import type { BatchwiseError } from '../errors/errors.js';
import { cancelledError, expiredError, overtakenError } from '../errors/rejections.js';
import type { Entry, EntryRemoval } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import { retryAfterMs } from './admission.js';
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

  /** Rejects admitted items that cannot be in time any more. Their retries are spread over the time of a batch. */
  rejectItems(entries: readonly Entry[], group: Group, now: number): void {
    this.#tooLate(entries, group, now, (entry, error) => this.removeAll(entry, 'refused', error));
  }

  /** As `rejectItems`, but only these callers: others that share their items arrived later, and may still be in time. */
  rejectCallers(callers: readonly Entry[], group: Group, now: number): void {
    this.#tooLate(callers, group, now, (caller, error) => {
      if (!caller.settled) this.#remove(caller, 'refused', error);
    });
  }

  #tooLate(
    entries: readonly Entry[],
    group: Group,
    now: number,
    reject: (entry: Entry, error: BatchwiseError) => void,
  ): void {
    const [first] = entries;
    if (first === undefined) return;
    const dispatcher = this.#dispatcher;
    const { name, targetLatencyMs, maxBatchSize } = dispatcher.settings;
    const allowedMs = Math.min(targetLatencyMs, first.cohort?.timeoutMsOf(first) ?? Number.POSITIVE_INFINITY);
    const firstMs = retryAfterMs(first.cost, dispatcher.queue.behindAll(group), allowedMs, dispatcher, now);
    const batchMs = dispatcher.curve.bestSize(maxBatchSize)?.durationMs ?? 0;
    for (const [i, entry] of entries.entries()) {
      reject(entry, overtakenError(name, firstMs + (i / entries.length) * batchMs));
    }
  }

  /** Removes all callers of an entry. One may cancel in reaction to what another is told. */
  removeAll(entry: Entry, ending: Ending, error: BatchwiseError): void {
    // First, so that a caller that is told cannot join the same computation again.
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
      if (unwanted !== undefined) batch.gone(unwanted);
      batch.abortIfUnwanted();
    }
    this.#dispatcher.restIfIdle();
  }

  /** Takes a caller out of the queue or its batch; returns the item if it was the last caller of it. */
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
