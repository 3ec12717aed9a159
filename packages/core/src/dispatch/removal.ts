/**
 * Where callers go who leave without an answer: they give up, their time is up, or they are sent away.
 * Each is taken out of where it stands, then counted, then told, so that whatever it does when it is
 * told, it finds everybody else in one place.
 */

import type { Ending } from '../batch/ledger.js';
import type { BatchwiseError } from '../errors/errors.js';
import { cancelledError, expiredError, overtakenError } from '../errors/rejections.js';
import type { Entry, EntryRemoval } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import { retryAfterMs } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

export class Removal<I, R> implements EntryRemoval {
  readonly #dispatcher: Dispatcher<I, R>;

  constructor(dispatcher: Dispatcher<I, R>) {
    this.#dispatcher = dispatcher;
  }

  cancel(entry: Entry, reason: unknown): void {
    this.#remove(entry, 'cancelled', cancelledError(this.#dispatcher.settings.name, reason));
  }

  expire(entry: Entry): void {
    this.#remove(entry, 'expired', expiredError(this.#dispatcher.settings.name));
  }

  /**
   * Sends those away who were let in and can no longer make it. They may come back when the door would let
   * them in; not all at one moment, or it would let in nobody else.
   */
  rejectItems(entries: readonly Entry[], group: Group, now: number): void {
    this.#tooLate(entries, group, now, (entry, error) => this.removeAll(entry, 'refused', error));
  }

  /** As `overtaken`, but only these callers: others that share their items came later, and may still be served in time. */
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
    dispatcher.doorMargin.sentAway(entries.length);
    const allowedMs = Math.min(targetLatencyMs, first.cohort?.timeoutMsOf(first) ?? Number.POSITIVE_INFINITY);
    const firstMs = retryAfterMs(first.cost, dispatcher.queue.behindAll(group), allowedMs, dispatcher, now);
    const batchMs = dispatcher.curve.best(maxBatchSize)?.durationMs ?? 0;
    for (const [i, entry] of entries.entries()) {
      reject(entry, overtakenError(name, firstMs + (i / entries.length) * batchMs));
    }
  }

  /** Sends all away who wait for an entry. One may give up in reaction to what another is told. */
  removeAll(entry: Entry, ending: Ending, error: BatchwiseError): void {
    // First of all, so that nobody who is told so can join the very work that is being sent away.
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

  /** Takes a caller out of the line or the batch it is in; returns the item that nobody waits for any more. */
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
