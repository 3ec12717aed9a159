/**
 * Where items come in, or are turned away: with a wrong option or an item that cannot be sized
 * (`INVALID_…`), with no room (`QUEUE_FULL`), with no hope of an answer in time (`OVERLOADED`). Whoever
 * is turned away hears it at once, and nothing else has happened.
 */
import { cancelOnAbort } from './abort-watch.js';
import { FRESH_MS, predictedStayMs, retryAfterMs, roomAfterMs } from './admission.js';
import { type CallSettings, callSettings, type EnqueueOptions } from './call-options.js';
import { describe, messageOf } from './describe.js';
import type { Dispatcher } from './dispatcher.js';
import { Entry, type Moment, type Resolve, type Sink, TiedEntry } from './entry.js';
import { BatchwiseError } from './errors.js';
import type { Ending } from './ledger.js';
import type { Tenant } from './tenants.js';

export class Door<I, R> {
  readonly #dispatcher: Dispatcher<I, R>;

  constructor(dispatcher: Dispatcher<I, R>) {
    this.#dispatcher = dispatcher;
  }

  /** Lets an item in, or settles its caller right here. */
  enter(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    if (options !== undefined || !dispatcher.doorIsWide) return this.#examine(item, sink, options);
    // Nothing is asked of this item: the way of most items in most batchers.
    dispatcher.ledger.submitted += 1;
    const entry = new Entry<I, R>(item, sink, dispatcher.turn.arrival(), 1);
    dispatcher.append(entry, undefined, dispatcher.line.tenants.unnamed, 0);
    return entry;
  }

  #examine(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    const { settings } = dispatcher;
    if (!dispatcher.isOpen) return this.#turnAway(item, sink, 'refused', this.closedError());

    let cost = 1;
    let group: unknown;
    let shareKey: unknown;
    let call: Readonly<CallSettings>;
    try {
      if (settings.costOf !== undefined) cost = this.#costOf(settings.costOf, item);
      if (settings.groupOf !== undefined) group = askAbout(item, 'groupOf', settings.groupOf);
      if (settings.dedupeBy !== undefined) shareKey = askAbout(item, 'dedupeBy', settings.dedupeBy);
      call = callSettings(options);
    } catch (error) {
      return this.#turnAway(item, sink, 'refused', error as BatchwiseError);
    }
    const { timeoutMs = settings.timeoutMs, priority, signal, tenant: tenantId, weight } = call;
    // Who joins work that is running does not wait in line.
    const isRunning =
      shareKey !== undefined && dispatcher.sharedWorks.find(shareKey)?.carrier.batch !== undefined;
    const noRoom = isRunning ? undefined : this.noRoomFor(1);
    // Other people's code has run by now, and may have done anything.
    if (!dispatcher.isOpen) return this.#turnAway(item, sink, 'refused', this.closedError());
    if (signal?.aborted) return this.#turnAway(item, sink, 'cancelled', this.cancelledError(signal.reason));
    if (timeoutMs === 0) return this.#turnAway(item, sink, 'expired', this.expiredError());
    if (cost > dispatcher.settings.maxBatchSize) {
      return this.#turnAway(item, sink, 'refused', this.tooLargeError(cost));
    }
    if (noRoom !== undefined) return this.#turnAway(item, sink, 'refused', noRoom);

    const entry = new TiedEntry<I, R>(item, sink, dispatcher.turn.arrival(), cost);
    const tenant = dispatcher.line.tenants.find(tenantId, weight);
    const work = shareKey === undefined ? undefined : dispatcher.sharedWorks.find(shareKey);
    // Sharing work that is under way adds none.
    const noHope = work === undefined ? this.#noHopeFor(entry, timeoutMs, tenant, priority) : undefined;
    if (noHope !== undefined) return this.#settle(entry, 'refused', noHope);

    dispatcher.ledger.submitted += 1;
    if (work !== undefined) dispatcher.join(entry, work);
    else {
      if (shareKey !== undefined) dispatcher.sharedWorks.begin(shareKey, entry);
      dispatcher.append(entry, group, tenant, priority);
    }
    if (timeoutMs !== Number.POSITIVE_INFINITY) dispatcher.turn.cohort(entry.moment, timeoutMs).add(entry);
    if (signal !== undefined) cancelOnAbort(entry, signal);
    return entry;
  }

  /** Why `count` more items have no place in the line; undefined when they have. */
  noRoomFor(count: number): BatchwiseError | undefined {
    const dispatcher = this.#dispatcher;
    const { maxQueueSize, name } = dispatcher.settings;
    if (dispatcher.ledger.queued + count <= maxQueueSize) return undefined;
    if (count > maxQueueSize) {
      return invalidItem(
        `${name}: a request of ${count} items never fits in a queue of maxQueueSize ${maxQueueSize}.`,
      );
    }
    dispatcher.makeRoom(count);
    if (dispatcher.ledger.queued + count <= maxQueueSize) return undefined;
    return new BatchwiseError('QUEUE_FULL', `${name}: the queue is full (maxQueueSize is ${maxQueueSize}).`, {
      retryAfterMs: roomAfterMs(dispatcher, dispatcher.settings.clock.now()),
    });
  }

  closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.#dispatcher.settings.name}: the batcher is closed.`);
  }

  cancelledError(reason: unknown): BatchwiseError {
    const { name } = this.#dispatcher.settings;
    return new BatchwiseError('CANCELLED', `${name}: the call was cancelled.`, { cause: reason });
  }

  expiredError(): BatchwiseError {
    const { name } = this.#dispatcher.settings;
    return new BatchwiseError('DEADLINE_EXCEEDED', `${name}: the deadline of the call has passed.`);
  }

  /** For those whom the policy lets go because they can no longer make it. */
  overtakenError(): BatchwiseError {
    const { settings } = this.#dispatcher;
    return new BatchwiseError('OVERLOADED', `${settings.name}: no answer can be ready in time any more.`, {
      retryAfterMs: roomAfterMs(this.#dispatcher, settings.clock.now()),
    });
  }

  /** Why an item cannot be answered in time; undefined when it can, or when nothing is known. */
  #noHopeFor(entry: Entry, timeoutMs: number, tenant: Tenant, priority: number): BatchwiseError | undefined {
    const dispatcher = this.#dispatcher;
    const { settings, line, running, curve } = dispatcher;
    const allowedMs = Math.min(timeoutMs, settings.targetLatencyMs);
    if (allowedMs === Number.POSITIVE_INFINITY) return undefined;
    const now = entry.moment.at;
    const costAhead = line.costAhead(tenant, priority);
    const expectedMs = predictedStayMs(entry.cost, costAhead, dispatcher, now);
    if (expectedMs === undefined || expectedMs <= allowedMs) return undefined;
    const isIdle = line.length === 0 && running.length === 0;
    if (isIdle && now - curve.updatedAt >= FRESH_MS) return undefined;
    const aim =
      timeoutMs === allowedMs ? `its deadline (${timeoutMs} ms)` : `targetLatencyMs (${allowedMs} ms)`;
    return new BatchwiseError(
      'OVERLOADED',
      `${settings.name}: an answer is expected in ${Math.ceil(expectedMs)} ms, too late for ${aim}.`,
      { retryAfterMs: retryAfterMs(entry.cost, costAhead, allowedMs, dispatcher, now) },
    );
  }

  #costOf(costOf: (item: I) => number, item: I): number {
    const cost = askAbout(item, 'costOf', costOf);
    if (typeof cost !== 'number' || !(cost > 0) || cost === Number.POSITIVE_INFINITY) {
      throw invalidItem(`costOf(item): expected a number above 0, got ${describe(cost)}.`);
    }
    return cost;
  }

  tooLargeError(cost: number): BatchwiseError {
    const { name, maxBatchSize } = this.#dispatcher.settings;
    return invalidItem(
      `${name}: an item of cost ${cost} does not fit in a batch of maxBatchSize ${maxBatchSize}.`,
    );
  }

  #turnAway(item: I, sink: Sink<R> | Resolve, ending: Ending, error: BatchwiseError): Entry<I, R> {
    const moment: Moment = { at: this.#dispatcher.settings.clock.now(), arrivals: 0 };
    return this.#settle(new Entry<I, R>(item, sink, moment, 1), ending, error);
  }

  #settle(entry: Entry<I, R>, ending: Ending, error: BatchwiseError): Entry<I, R> {
    this.#dispatcher.ledger.submitted += 1;
    this.#dispatcher.ledger.end(entry, ending, error);
    return entry;
  }
}

function askAbout<I, T>(item: I, name: string, question: (item: I) => T): T {
  try {
    return question(item);
  } catch (thrown) {
    throw invalidItem(`${name}(item) threw: ${messageOf(thrown)}`, thrown);
  }
}

function invalidItem(message: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message, cause === undefined ? {} : { cause });
}
