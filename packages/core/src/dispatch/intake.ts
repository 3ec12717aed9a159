/**
 * Where items come in, or are turned away: with a wrong option or an item that cannot be sized
 * (`INVALID_…`), with no room (`QUEUE_FULL`), with no hope of an answer in time (`OVERLOADED`). Whoever
 * is turned away hears it at once, and nothing else has happened.
 */

import type { Ending } from '../batch/ledger.js';
import { describe, messageOf } from '../errors/describe.js';
import { BatchwiseError } from '../errors/errors.js';
import {
  cancelledError,
  closedError,
  expiredError,
  invalidItem,
  queueFullError,
  tooCostlyError,
  tooLateError,
  tooManyError,
} from '../errors/rejections.js';
import { FRESH_MS, isColdStart } from '../learning/trust.js';
import { type CallSettings, callSettings, type EnqueueOptions } from '../options/call-options.js';
import { cancelOnAbort, hasFired, isNativeSignal } from '../queue/abort-watch.js';
import { Entry, type Moment, type Resolve, type Sink, TiedEntry } from '../queue/entry.js';
import type { Tenant } from '../queue/tenants.js';
import { hasTimeEnough, predictedStay, retryAfterMs, roomAfterMs } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

interface Objection {
  readonly ending: Ending;
  readonly error: BatchwiseError;
}

/** How much of the line anybody may fill where there are several tenants. */
const ROOM_FOR_ALL = 7 / 8;

export class Intake<I, R> {
  readonly #dispatcher: Dispatcher<I, R>;

  constructor(dispatcher: Dispatcher<I, R>) {
    this.#dispatcher = dispatcher;
  }

  /** Lets an item in, or settles its caller right here. */
  submit(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    if (options !== undefined || !dispatcher.admitsUnchecked) return this.#submitChecked(item, sink, options);
    // Nothing is asked of this item: the way of most items in most batchers.
    dispatcher.ledger.submitted += 1;
    const entry = new Entry<I, R>(item, sink, dispatcher.turn.arrival(), 1);
    dispatcher.append(entry, undefined, dispatcher.queue.tenants.unnamed, 0);
    return entry;
  }

  #submitChecked(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    const { name, costOf, groupOf, dedupeBy } = dispatcher.settings;
    if (!dispatcher.isOpen) return this.#reject(item, sink, 'refused', closedError(name));

    let cost = 1;
    let group: unknown;
    let shareKey: unknown;
    let call: Readonly<CallSettings>;
    try {
      if (costOf !== undefined) cost = this.#costOf(costOf, item);
      if (groupOf !== undefined) group = askAbout(item, 'groupOf', groupOf);
      if (dedupeBy !== undefined) shareKey = askAbout(item, 'dedupeBy', dedupeBy);
      call = callSettings(options);
    } catch (error) {
      return this.#reject(item, sink, 'refused', asRefusal(error));
    }
    // Only now: those who were asked may have changed the settings.
    const { settings } = dispatcher;
    const { timeoutMs = settings.timeoutMs, priority, signal, tenant: tenantId, weight, waitedMs } = call;
    let objection = this.#objection(cost, timeoutMs, signal);
    if (objection !== undefined) return this.#reject(item, sink, objection.ending, objection.error);
    const tenant = dispatcher.queue.tenants.find(tenantId, weight);
    // Who joins work that is running does not wait in line.
    const isRunning =
      shareKey !== undefined && dispatcher.sharedWorks.find(shareKey)?.carrier.batch !== undefined;
    if (!isRunning) objection = this.#roomObjection(cost, timeoutMs, signal, tenant);
    if (objection !== undefined) return this.#reject(item, sink, objection.ending, objection.error);

    const arrival = dispatcher.turn.arrival();
    const entry = new TiedEntry<I, R>(item, sink, momentOf(arrival, waitedMs), cost);
    if (signal !== undefined) {
      try {
        cancelOnAbort(entry, signal);
      } catch (error) {
        return this.#settle(entry, 'refused', asRefusal(error));
      }
      // One that is not the platform's may have done anything when it was listened to.
      if (!isNativeSignal(signal)) objection = this.#objection(cost, timeoutMs, signal);
      if (objection !== undefined) return this.#settle(entry, objection.ending, objection.error);
    }
    const work = shareKey === undefined ? undefined : dispatcher.sharedWorks.find(shareKey);
    // Sharing work that is under way adds none.
    const noHope =
      work === undefined ? this.#noHopeFor(entry, timeoutMs, waitedMs, group, tenant, priority) : undefined;
    if (noHope !== undefined) return this.#settle(entry, 'refused', noHope);

    dispatcher.ledger.submitted += 1;
    if (work !== undefined) dispatcher.join(entry, work);
    else {
      if (shareKey !== undefined) dispatcher.sharedWorks.begin(shareKey, entry);
      dispatcher.append(entry, group, tenant, priority);
      if (waitedMs > 0) entry.lane?.group.hasOlder(entry);
    }
    if (timeoutMs !== Number.POSITIVE_INFINITY) dispatcher.turn.cohort(arrival, timeoutMs).add(entry);
    return entry;
  }

  /** Why an item cannot come in. */
  #objection(cost: number, timeoutMs: number, signal: AbortSignal | undefined): Objection | undefined {
    const { isOpen, settings } = this.#dispatcher;
    const { name, maxBatchSize } = settings;
    if (!isOpen) return { ending: 'refused', error: closedError(name) };
    const { outage } = this.#dispatcher;
    if (outage !== undefined) return { ending: 'refused', error: outage };
    if (signal !== undefined && hasFired(signal))
      return { ending: 'cancelled', error: cancelledError(name, signal.reason) };
    if (timeoutMs === 0) return { ending: 'expired', error: expiredError(name) };
    if (cost > maxBatchSize) return { ending: 'refused', error: tooCostlyError(name, cost, maxBatchSize) };
    return undefined;
  }

  #roomObjection(
    cost: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    tenant: Tenant,
  ): Objection | undefined {
    const { ledger, settings } = this.#dispatcher;
    if (ledger.queued < settings.maxQueueSize * ROOM_FOR_ALL) return undefined;
    const error = this.#noRoomFor(1, tenant);
    // To make room, batches may have left. Their handlers may have done anything, so everything is looked at again.
    const objection = this.#objection(cost, timeoutMs, signal);
    return objection ?? (error === undefined ? undefined : { ending: 'refused', error });
  }

  /** Why a request of so many items is refused as a whole; undefined when its items may be looked at. */
  rejectionOf(items: number): BatchwiseError | undefined {
    const { isOpen, settings } = this.#dispatcher;
    return isOpen ? this.#noRoomFor(items, undefined) : closedError(settings.name);
  }

  /** Why `count` more items of a tenant, or of whomever, have no place in the line; undefined when they have. */
  #noRoomFor(count: number, tenant: Tenant | undefined): BatchwiseError | undefined {
    const dispatcher = this.#dispatcher;
    const { maxQueueSize, name } = dispatcher.settings;
    if (count > maxQueueSize) return tooManyError(name, count, maxQueueSize);
    const hasRoom = () => this.#hasRoomFor(count, tenant);
    if (hasRoom()) return undefined;
    dispatcher.makeRoom(hasRoom);
    if (hasRoom()) return undefined;
    return queueFullError(name, maxQueueSize, roomAfterMs(dispatcher, dispatcher.settings.clock.now()));
  }

  /** The last places are for tenants who have less than their share of the line: one who floods it leaves them to the others. */
  #hasRoomFor(count: number, tenant: Tenant | undefined): boolean {
    const { ledger, settings, queue } = this.#dispatcher;
    const { maxQueueSize } = settings;
    const queued = ledger.queued + count;
    if (queued > maxQueueSize) return false;
    if (queued <= maxQueueSize * ROOM_FOR_ALL || !tenant?.queuedItems) return true;
    return tenant.queuedItems + count <= maxQueueSize * queue.tenants.shareOf(tenant);
  }

  /** Why an item cannot be answered in time; undefined when it can, or when nothing is known. */
  #noHopeFor(
    entry: Entry,
    timeoutMs: number,
    waitedMs: number,
    group: unknown,
    tenant: Tenant,
    priority: number,
  ): BatchwiseError | undefined {
    const dispatcher = this.#dispatcher;
    const { settings, queue, curve } = dispatcher;
    const allowedMs = Math.min(timeoutMs, settings.targetLatencyMs - waitedMs);
    if (allowedMs === Number.POSITIVE_INFINITY || !settings.admission) return undefined;
    const now = entry.moment.at + waitedMs;
    const ahead = queue.ahead(entry.cost, group, tenant, priority);
    if (hasTimeEnough(entry.cost, ahead, allowedMs, dispatcher)) return undefined;
    const stay = predictedStay(entry.cost, ahead, allowedMs, dispatcher, now);
    if (stay === undefined) return undefined;
    const batchMs = curve.best(settings.maxBatchSize)?.durationMs ?? 0;
    // Where all can be served, those who were sent away earlier keep nobody out; and if few were let in, it would not
    // be noticed that there is time for more.
    const plannedMs = stay.isInCrowd ? dispatcher.doorMargin.within(allowedMs, batchMs) : allowedMs;
    if (stay.ms <= plannedMs) return undefined;
    const isTooSlowForAll = (curve.predict(entry.cost) ?? 0) > allowedMs;
    if (isTooSlowForAll && isColdStart(curve, dispatcher.slots)) return undefined;
    const isIdle = queue.length === 0 && dispatcher.placement.hasFreeSlot;
    // What is not known, or not any more, is found out when it costs nobody anything.
    if (isIdle && (now - curve.updatedAt >= FRESH_MS || entry.cost < curve.smallestCost)) return undefined;
    const limit = `${timeoutMs === allowedMs ? 'its deadline' : 'the target'} (${Math.max(0, Math.round(allowedMs))} ms)`;
    const retryAfter = retryAfterMs(entry.cost, ahead, plannedMs, dispatcher, now);
    return tooLateError(settings.name, stay.ms, limit, retryAfter);
  }

  #costOf(costOf: (item: I) => number, item: I): number {
    const cost = askAbout(item, 'costOf', costOf);
    if (typeof cost !== 'number' || !(cost > 0) || cost === Number.POSITIVE_INFINITY) {
      throw invalidItem(`costOf(item): expected a number above 0, got ${describe(cost)}.`);
    }
    if (cost > Number.MAX_SAFE_INTEGER) {
      // Beyond that, sums of costs would lose whole items.
      throw invalidItem(`costOf(item): expected at most ${Number.MAX_SAFE_INTEGER}, got ${describe(cost)}.`);
    }
    return cost;
  }

  #reject(item: I, sink: Sink<R> | Resolve, ending: Ending, error: BatchwiseError): Entry<I, R> {
    const moment: Moment = { at: this.#dispatcher.settings.clock.now(), arrivals: 0 };
    return this.#settle(new Entry<I, R>(item, sink, moment, 1), ending, error);
  }

  #settle(entry: Entry<I, R>, ending: Ending, error: BatchwiseError): Entry<I, R> {
    this.#dispatcher.ledger.submitted += 1;
    this.#dispatcher.ledger.end(entry, ending, error);
    return entry;
  }
}

/** What came of reading somebody's options: our own complaint, or whatever a getter threw. */
function asRefusal(error: unknown): BatchwiseError {
  if (error instanceof BatchwiseError) return error;
  return new BatchwiseError('INVALID_OPTION', `options of a call: ${messageOf(error)}`, { cause: error });
}

/** Who has waited elsewhere came before the others of this turn. */
function momentOf(moment: Moment, waitedMs: number): Moment {
  return waitedMs === 0 ? moment : { at: moment.at - waitedMs, arrivals: 0 };
}

function askAbout<I, T>(item: I, name: string, question: (item: I) => T): T {
  try {
    return question(item);
  } catch (thrown) {
    // A check of the item, with its own words.
    if (thrown instanceof BatchwiseError && thrown.code === 'INVALID_ITEM') throw thrown;
    throw invalidItem(`${name}(item) threw: ${messageOf(thrown)}`, thrown);
  }
}
