/**
 * Admits items to the queue, or rejects them: for an invalid option or item (`INVALID_…`), for lack of room
 * (`QUEUE_FULL`), or because they cannot be answered in time (`OVERLOADED`). A rejected caller is told at
 * once, and nothing else has happened.
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
import { type CallSettings, callSettings, type EnqueueOptions } from '../options/call-options.js';
import { cancelOnAbort, hasFired, isNativeSignal } from '../queue/abort-watch.js';
import { Entry, type Moment, type Resolve, type Sink, TiedEntry } from '../queue/entry.js';
import type { Tenant } from '../queue/tenants.js';
import { hasTimeEnough, predict, roomAfterMs } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

interface Objection {
  readonly ending: Ending;
  readonly error: BatchwiseError;
}

/** The part of the queue that is open to every tenant. */
const ROOM_FOR_ALL = 7 / 8;
/** Cost for which ample time is checked in an empty queue: so that a burst does not ask again for each of its first items. */
const LEAST_AMPLE_COST = 64;

export class Intake {
  readonly #dispatcher: Dispatcher;
  /** For which cost ahead there was ample time, for items of this arrival that have so much time. */
  #ample: { arrival: Moment | undefined; allowedMs: number; cost: number } = {
    arrival: undefined,
    allowedMs: 0,
    cost: 0,
  };

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Admits an item, or settles its caller right here. */
  submit<I, R>(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    if (options !== undefined || !dispatcher.admitsUnchecked) return this.#submitChecked(item, sink, options);
    // Nothing to check: the path of most items in most batchers.
    dispatcher.ledger.submitted += 1;
    const entry = new Entry<I, R>(item, sink, dispatcher.turn.arrival(), 1);
    dispatcher.append(entry, undefined, dispatcher.queue.tenants.unnamed, 0);
    return entry;
  }

  #submitChecked<I, R>(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
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
      return this.#reject(item, sink, 'refused', asRejection(error));
    }
    // Only now: these functions may have changed the settings.
    const { settings } = dispatcher;
    const { timeoutMs = settings.timeoutMs, priority, signal, tenant: tenantId, weight, waitedMs } = call;
    let objection = this.#objection(cost, timeoutMs, signal);
    if (objection !== undefined) return this.#reject(item, sink, objection.ending, objection.error);
    const tenant = dispatcher.queue.tenants.find(tenantId, weight);
    // An item that joins a running computation is not queued.
    const isRunning =
      shareKey !== undefined && dispatcher.sharedWorks.find(shareKey)?.carrier.batch !== undefined;
    if (!isRunning && dispatcher.ledger.queued >= settings.maxQueueSize * ROOM_FOR_ALL) {
      objection = this.#roomObjection(cost, timeoutMs, signal, tenant);
      if (objection !== undefined) return this.#reject(item, sink, objection.ending, objection.error);
    }

    const arrival = dispatcher.turn.arrival();
    const moment = waitedMs === 0 ? arrival : earlier(arrival, waitedMs);
    const isTied = timeoutMs !== Number.POSITIVE_INFINITY || signal !== undefined || shareKey !== undefined;
    const entry = isTied
      ? new TiedEntry<I, R>(item, sink, moment, cost)
      : new Entry<I, R>(item, sink, moment, cost);
    if (signal !== undefined) {
      try {
        cancelOnAbort(entry, signal);
      } catch (error) {
        return this.#settle(entry, 'refused', asRejection(error));
      }
      // A signal of another make may have done anything when it was listened to.
      if (!isNativeSignal(signal)) objection = this.#objection(cost, timeoutMs, signal);
      if (objection !== undefined) return this.#settle(entry, objection.ending, objection.error);
    }
    const work = shareKey === undefined ? undefined : dispatcher.sharedWorks.find(shareKey);
    const allowedMs = Math.min(timeoutMs, settings.targetLatencyMs - waitedMs);
    const hasAmpleTime =
      allowedMs === Number.POSITIVE_INFINITY ||
      (group === undefined && this.#hasAmpleTime(cost, arrival, allowedMs));
    // Joining a computation in flight adds no work.
    if (work === undefined && !hasAmpleTime) {
      const noHope = this.#noHopeFor(entry, timeoutMs, waitedMs, group, tenant, priority);
      if (noHope !== undefined) return this.#settle(entry, 'refused', noHope);
    }

    dispatcher.ledger.submitted += 1;
    if (work !== undefined) dispatcher.join(entry, work);
    else {
      if (shareKey !== undefined) dispatcher.sharedWorks.begin(shareKey, entry);
      dispatcher.append(entry, group, tenant, priority);
      if (waitedMs > 0) entry.lane?.group.hasOlder(entry);
    }
    if (timeoutMs !== Number.POSITIVE_INFINITY) dispatcher.turn.cohort(arrival).add(entry, timeoutMs);
    return entry;
  }

  /** Why an item cannot be admitted, whatever is queued. */
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
    const error = this.#noRoomFor(1, tenant);
    // Batches that were dispatched to make room ran handlers, which may have done anything.
    const objection = this.#objection(cost, timeoutMs, signal);
    return objection ?? (error === undefined ? undefined : { ending: 'refused', error });
  }

  /** Why a request of so many items is rejected as a whole; undefined when its items may be submitted. */
  rejectionOf(items: number): BatchwiseError | undefined {
    const { isOpen, settings } = this.#dispatcher;
    return isOpen ? this.#noRoomFor(items, undefined) : closedError(settings.name);
  }

  /** Why there is no room for `count` more items, of a tenant if one is given; undefined when there is. */
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

  /** The last places are reserved for tenants below their share of the queue, against one that floods it. */
  #hasRoomFor(count: number, tenant: Tenant | undefined): boolean {
    const { ledger, settings, queue } = this.#dispatcher;
    const { maxQueueSize } = settings;
    const queued = ledger.queued + count;
    if (queued > maxQueueSize) return false;
    if (queued <= maxQueueSize * ROOM_FOR_ALL || !tenant?.queuedItems) return true;
    return tenant.queuedItems + count <= maxQueueSize * queue.tenants.shareOf(tenant);
  }

  /**
   * Whether there is time for much more than is queued, so that nothing has to be predicted for this item. Items that
   * arrive together with the same time share the answer, as long as the queue does not outgrow it.
   */
  #hasAmpleTime(cost: number, arrival: Moment, allowedMs: number): boolean {
    const ahead = this.#dispatcher.queue.ungroupedCost + cost;
    const ample = this.#ample;
    if (arrival === ample.arrival && allowedMs >= ample.allowedMs && ahead <= ample.cost) return true;
    const most = { cost: 2 * ahead + LEAST_AMPLE_COST, groups: 0, groupsCost: 0 };
    const isAmple = hasTimeEnough(0, most, allowedMs, this.#dispatcher);
    if (isAmple) this.#ample = { arrival, allowedMs, cost: most.cost };
    return isAmple;
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
    const { settings, queue } = dispatcher;
    const allowedMs = Math.min(timeoutMs, settings.targetLatencyMs - waitedMs);
    if (allowedMs === Number.POSITIVE_INFINITY || !settings.admission) return undefined;
    const now = entry.moment.at + waitedMs;
    const ahead = queue.ahead(entry.cost, group, tenant, priority);
    if (hasTimeEnough(entry.cost, ahead, allowedMs, dispatcher)) return undefined;
    const own = settings.groupOf === undefined ? dispatcher : dispatcher.groups.of(group);
    const prediction = predict(entry.cost, ahead, allowedMs, dispatcher, now, own);
    if (prediction === undefined || prediction.latencyMs <= allowedMs) return undefined;
    // While the backend is idle, an estimate that is uncertain or old is checked rather than believed.
    const isIdle = queue.length === 0 && dispatcher.placement.hasFreeSlot;
    if (isIdle && own.curve.isUncertain(entry.cost, dispatcher.slots, now)) return undefined;
    if ((own.curve.mean(entry.cost) ?? 0) > allowedMs && own.curve.isColdStart(dispatcher.slots))
      return undefined;
    const limit = `${timeoutMs === allowedMs ? 'its deadline' : 'the target'} (${Math.max(0, Math.round(allowedMs))} ms)`;
    return tooLateError(settings.name, prediction.latencyMs, limit, prediction.retryAfterMs);
  }

  #costOf(costOf: (item: unknown) => number, item: unknown): number {
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

  #reject<I, R>(item: I, sink: Sink<R> | Resolve, ending: Ending, error: BatchwiseError): Entry<I, R> {
    const moment: Moment = { at: this.#dispatcher.settings.clock.now(), arrivals: 0 };
    return this.#settle(new Entry<I, R>(item, sink, moment, 1), ending, error);
  }

  #settle<I, R>(entry: Entry<I, R>, ending: Ending, error: BatchwiseError): Entry<I, R> {
    this.#dispatcher.ledger.submitted += 1;
    this.#dispatcher.ledger.end(entry, ending, error);
    return entry;
  }
}

/** An error while the options of a call were read: of a check, or thrown by a getter. */
function asRejection(error: unknown): BatchwiseError {
  if (error instanceof BatchwiseError) return error;
  return new BatchwiseError('INVALID_OPTION', `options of a call: ${messageOf(error)}`, { cause: error });
}

/** The arrival of an item that had been queued elsewhere. */
function earlier({ at }: Moment, waitedMs: number): Moment {
  return { at: at - waitedMs, arrivals: 0 };
}

function askAbout<I, T>(item: I, name: string, question: (item: I) => T): T {
  try {
    return question(item);
  } catch (thrown) {
    // The user's own check of the item.
    if (thrown instanceof BatchwiseError && thrown.code === 'INVALID_ITEM') throw thrown;
    throw invalidItem(`${name}(item) threw: ${messageOf(thrown)}`, thrown);
  }
}
