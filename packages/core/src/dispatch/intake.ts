/**
 * Admits items to the queue or rejects them: for an invalid option or item (`INVALID_…`), for lack of room
 * (`QUEUE_FULL`), or because they cannot be answered in time (`OVERLOADED`). A rejection is reported before `submit`
 * returns, and has no other effect.
 */

import { endingOf } from '../batch/ledger.js';
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
import { Entry, type Moment, type Resolve, type Sink } from '../queue/entry.js';
import type { SharedWork } from '../queue/shared-work.js';
import type { Tenant } from '../queue/tenants.js';
import { AMPLE, aheadByThroughput, hasTimeEnough, predict, roomAfterMs } from './admission.js';
import type { Dispatcher } from './dispatcher.js';

const { POSITIVE_INFINITY } = Number;
/** The part of the queue that is open to every tenant. */
const ROOM_FOR_ALL = 7 / 8;
/** The least cost for which `#hasAmpleTime` checks an empty queue, so that a burst does not repeat the check for each item. */
const LEAST_AMPLE_COST = 64;

export class Intake {
  readonly #dispatcher: Dispatcher;
  /** Up to this cost of the queue there is ample time for items of this arrival that have at least `allowedMs`. */
  #ample: { arrival: Moment | undefined; allowedMs: number; cost: number } = {
    arrival: undefined,
    allowedMs: 0,
    cost: 0,
  };

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  /** Admits an item, or rejects its caller before this returns. */
  submit<I, R>(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    if (options !== undefined || !dispatcher.admitsUnchecked) return this.#submitChecked(item, sink, options);
    dispatcher.ledger.submitted += 1;
    const entry = new Entry<I, R>(item, sink, dispatcher.turn.arrived(1), 1);
    dispatcher.append(entry, undefined, dispatcher.queue.tenants.unnamed, 0);
    return entry;
  }

  #submitChecked<I, R>(item: I, sink: Sink<R> | Resolve, options: EnqueueOptions | undefined): Entry<I, R> {
    const dispatcher = this.#dispatcher;
    const { name, costOf, groupOf, dedupeBy } = dispatcher.settings;
    if (!dispatcher.isOpen) return this.#reject(item, sink, closedError(name));

    let cost = 1;
    let group: unknown;
    let shareKey: unknown;
    let call: Readonly<CallSettings>;
    try {
      if (costOf !== undefined) cost = validCost(callUser('costOf', costOf, item));
      if (groupOf !== undefined) group = callUser('groupOf', groupOf, item);
      if (dedupeBy !== undefined) shareKey = callUser('dedupeBy', dedupeBy, item);
      call = callSettings(options);
    } catch (error) {
      return this.#reject(item, sink, asRejection(error));
    }
    // Only now: these functions may have changed the settings.
    const { settings, sharedWorks } = dispatcher;
    const { timeoutMs = settings.timeoutMs, priority, signal, tenant: tenantId, weight, waitedMs } = call;
    let rejection = this.#rejection(cost, timeoutMs, signal);
    if (rejection !== undefined) return this.#reject(item, sink, rejection);
    const tenant = dispatcher.queue.tenants.find(tenantId, weight);
    // An item that joins a running computation is not queued.
    const isRunning = shareKey !== undefined && sharedWorks.find(shareKey)?.carrier.batch !== undefined;
    if (!isRunning && dispatcher.ledger.queued >= settings.maxQueueSize * ROOM_FOR_ALL) {
      const noRoom = this.#noRoomFor(1, tenant);
      // Making room dispatches batches, whose handlers may have closed or reconfigured the batcher.
      rejection = this.#rejection(cost, timeoutMs, signal) ?? noRoom;
      if (rejection !== undefined) {
        if (rejection === noRoom) this.#offered(shareKey, group);
        return this.#reject(item, sink, rejection);
      }
    }

    const arrival = dispatcher.turn.moment;
    const moment = waitedMs === 0 ? arrival : { at: arrival.at - waitedMs, arrivals: 0 };
    const entry = new Entry<I, R>(item, sink, moment, cost);
    if (signal !== undefined) {
      try {
        cancelOnAbort(entry, signal);
      } catch (error) {
        return this.#settle(entry, asRejection(error));
      }
      // The `addEventListener` of another signal class may have closed or reconfigured the batcher.
      if (!isNativeSignal(signal)) rejection = this.#rejection(cost, timeoutMs, signal);
      if (rejection !== undefined) return this.#settle(entry, rejection);
    }
    const work = this.#offered(shareKey, group);
    const allowedMs = Math.min(timeoutMs, settings.targetLatencyMs - waitedMs);
    // Joining a computation in flight adds no work.
    if (work === undefined && settings.admission && allowedMs !== POSITIVE_INFINITY) {
      if (group !== undefined || !this.#hasAmpleTime(cost, arrival, allowedMs)) {
        const limit = timeoutMs === allowedMs ? 'its deadline' : 'the target';
        rejection = this.#tooLate(cost, allowedMs, limit, arrival.at, group, tenant, priority);
        if (rejection !== undefined) return this.#settle(entry, rejection);
      }
    }

    dispatcher.ledger.submitted += 1;
    if (work !== undefined) dispatcher.join(entry, work);
    else {
      if (shareKey !== undefined) sharedWorks.begin(shareKey, entry);
      dispatcher.append(entry, group, tenant, priority);
    }
    if (timeoutMs !== POSITIVE_INFINITY) dispatcher.turn.cohort(arrival).add(entry, timeoutMs);
    return entry;
  }

  /** Counts an item that is offered to the queue, admitted or not; returns the computation that it can join instead. */
  #offered(shareKey: unknown, group: unknown): SharedWork | undefined {
    const { sharedWorks } = this.#dispatcher;
    const work = shareKey === undefined ? undefined : sharedWorks.find(shareKey);
    if (work === undefined) this.#dispatcher.learning.offered(group);
    return work;
  }

  /** Why an item cannot be admitted, whatever is queued. */
  #rejection(cost: number, timeoutMs: number, signal: AbortSignal | undefined): BatchwiseError | undefined {
    const { isOpen, settings, placement } = this.#dispatcher;
    const { outage } = placement;
    const { name, maxBatchSize } = settings;
    if (!isOpen) return closedError(name);
    if (outage !== undefined) return outage;
    if (signal !== undefined && hasFired(signal)) return cancelledError(name, signal.reason);
    if (timeoutMs === 0) return expiredError(name);
    if (cost > maxBatchSize) return tooCostlyError(name, cost, maxBatchSize);
    return undefined;
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

  /** The last places are reserved for tenants below their share of the queue, against a tenant that floods it. */
  #hasRoomFor(count: number, tenant: Tenant | undefined): boolean {
    const { ledger, settings, queue } = this.#dispatcher;
    const { maxQueueSize } = settings;
    const queued = ledger.queued + count;
    if (queued > maxQueueSize) return false;
    if (queued <= maxQueueSize * ROOM_FOR_ALL || !tenant?.queuedItems) return true;
    return tenant.queuedItems + count <= maxQueueSize * queue.tenants.shareOf(tenant);
  }

  /**
   * Whether there is time for much more than is queued, so that no prediction is needed. Items of one arrival with the
   * same time limit share the answer, as long as the queue does not outgrow it.
   */
  #hasAmpleTime(cost: number, arrival: Moment, allowedMs: number): boolean {
    const ahead = this.#dispatcher.queue.ungroupedCost + cost;
    const ample = this.#ample;
    if (arrival === ample.arrival && allowedMs >= ample.allowedMs && ahead <= ample.cost) return true;
    const most = { cost: AMPLE * ahead + LEAST_AMPLE_COST, groups: 0, groupsCost: 0 };
    const isAmple = hasTimeEnough(0, most, allowedMs, this.#dispatcher);
    if (isAmple) this.#ample = { arrival, allowedMs, cost: most.cost };
    return isAmple;
  }

  /** Why an item cannot be answered in time; undefined when it can, or when nothing is known. */
  #tooLate(
    cost: number,
    allowedMs: number,
    limit: string,
    now: number,
    group: unknown,
    tenant: Tenant,
    priority: number,
  ): BatchwiseError | undefined {
    const dispatcher = this.#dispatcher;
    const { settings, queue, placement } = dispatcher;
    const byAge = queue.ahead(cost, group, tenant, priority);
    if (hasTimeEnough(cost, byAge, allowedMs, dispatcher)) return undefined;
    const own = settings.groupOf === undefined ? dispatcher : dispatcher.groups.of(group);
    const ahead =
      settings.policy.nextGroup === undefined
        ? byAge
        : aheadByThroughput(cost, byAge, allowedMs, settings, own, tenant.groups, now);
    const prediction = predict(cost, ahead, allowedMs, dispatcher, now, own);
    if (prediction === undefined || prediction.latencyMs <= allowedMs) return undefined;
    // While the backend is idle, an uncertain or old estimate is measured again instead of trusted.
    const isIdle = queue.length === 0 && placement.hasFreeSlot;
    if (isIdle && own.curve.isUncertain(cost, placement.slots, now)) return undefined;
    if ((own.curve.mean(cost) ?? 0) > allowedMs && own.curve.isColdStart(placement.slots)) return undefined;
    const limitMs = `${limit} (${Math.max(0, Math.round(allowedMs))} ms)`;
    return tooLateError(settings.name, prediction.latencyMs, limitMs, prediction.retryAfterMs);
  }

  #reject<I, R>(item: I, sink: Sink<R> | Resolve, error: BatchwiseError): Entry<I, R> {
    const moment: Moment = { at: this.#dispatcher.settings.clock.now(), arrivals: 0 };
    return this.#settle(new Entry<I, R>(item, sink, moment, 1), error);
  }

  #settle<I, R>(entry: Entry<I, R>, error: BatchwiseError): Entry<I, R> {
    this.#dispatcher.ledger.submitted += 1;
    this.#dispatcher.ledger.end(entry, endingOf(error.code, 'refused'), error);
    return entry;
  }
}

/** For an error while the options of a call were read: of a check, or thrown by a getter. */
function asRejection(error: unknown): BatchwiseError {
  if (error instanceof BatchwiseError) return error;
  return new BatchwiseError('INVALID_OPTION', `options of a call: ${messageOf(error)}`, { cause: error });
}

/** Calls `costOf`, `groupOf` or `dedupeBy`. They may reject an item by throwing `INVALID_ITEM`. */
function callUser<T>(name: string, callback: (item: unknown) => T, item: unknown): T {
  try {
    return callback(item);
  } catch (thrown) {
    if (thrown instanceof BatchwiseError && thrown.code === 'INVALID_ITEM') throw thrown;
    throw invalidItem(`${name}(item) threw: ${messageOf(thrown)}`, thrown);
  }
}

/** Above `MAX_SAFE_INTEGER`, sums of costs would be wrong by whole items. */
function validCost(cost: number): number {
  if (typeof cost !== 'number' || !(cost > 0) || cost === POSITIVE_INFINITY) {
    throw invalidItem(`costOf(item): expected a number above 0, got ${describe(cost)}.`);
  }
  if (cost > Number.MAX_SAFE_INTEGER) {
    throw invalidItem(`costOf(item): expected at most ${Number.MAX_SAFE_INTEGER}, got ${describe(cost)}.`);
  }
  return cost;
}
