/**
 * One caller and its item, from submit to settlement. It is also the node of the queue's linked list and the caller's
 * ticket, so that a queue of a million items needs one object for each, not three.
 */

import type { BatchRecord } from '../batch/diagnostics.js';
import type { RunningBatch } from '../batch/running-batch.js';
import { throwUncaught } from '../errors/errors.js';
import type { AbortWatch } from './abort-watch.js';
import type { Cohort } from './cohort.js';
import type { Lane } from './lane.js';
import type { SharedWork } from './shared-work.js';

/** Receives the result or the error, exactly once; may be called before `enqueue` returns. */
export interface Sink<R> {
  resolve(result: R, batch: BatchRecord): void;
  reject(error: Error): void;
}

/** Returned by `enqueue`. */
export interface Ticket {
  /** When the item arrived, on the batcher's clock. */
  readonly arrivedAt: number;
  readonly settled: boolean;
  /** Releases the caller at once with `CANCELLED`; does nothing once it is settled. */
  cancel(reason?: unknown): void;
}

/** An arrival time, shared by all items of one turn, because reading the clock costs more than queueing an item. */
export interface Moment {
  readonly at: number;
  /** Items that were offered to the queue. */
  arrivals: number;
}

/** Removes an entry that gets no result from its batcher. */
export interface EntryRemoval {
  cancel(entry: Entry, reason: unknown): void;
  expire(entry: Entry): void;
}

/** A promise's `resolve`: `submit` passes it in place of a sink to save an object a call. */
export type Resolve = (value: unknown) => void;

// biome-ignore lint/suspicious/noExplicitAny: the queue holds items of every type and reads none
type Any = any;

export class Entry<I = Any, R = Any> implements Ticket {
  item: I | undefined;
  sink: Sink<R> | Resolve | undefined;
  /** Where it is queued, or was before its batch. */
  lane: Lane | undefined = undefined;
  /** Set while its batch runs. */
  batch: RunningBatch | undefined = undefined;
  previous: Entry | undefined = undefined;
  next: Entry | undefined = undefined;
  readonly moment: Moment;
  readonly cost: number;
  /** Its cohort, which knows its deadline, and its index there; undefined without a deadline. */
  declare cohort: Cohort | undefined;
  declare cohortIndex: number;
  /** The watch of its signal, and its index there. */
  declare watch: AbortWatch | undefined;
  declare watchIndex: number;
  declare shared: SharedWork | undefined;

  constructor(item: I, sink: Sink<R> | Resolve, moment: Moment, cost: number) {
    this.item = item;
    this.sink = sink;
    this.moment = moment;
    this.cost = cost;
  }

  get arrivedAt(): number {
    return this.moment.at;
  }

  /** Infinity without one. */
  get deadline(): number {
    return this.cohort?.deadlineOf(this) ?? Number.POSITIVE_INFINITY;
  }

  get isQueued(): boolean {
    return this.lane !== undefined && this.batch === undefined;
  }

  get settled(): boolean {
    return this.sink === undefined;
  }

  /** All callers that share its item; without sharing itself. */
  get callers(): Iterable<Entry> {
    return this.shared?.callers ?? [this];
  }

  cancel(reason?: unknown): void {
    removalOf(this)?.cancel(this, reason);
  }

  expire(): void {
    removalOf(this)?.expire(this);
  }

  /** Resolves the caller. Called only by the ledger, which counts it. */
  deliver(result: R, batch: BatchRecord): void {
    const sink = release(this);
    try {
      if (typeof sink === 'function') sink(result);
      else sink?.resolve(result, batch);
    } catch (error) {
      throwUncaught(error);
    }
  }

  /** Rejects the caller. Called only by the ledger, which counts it. */
  fail(error: Error): void {
    const sink = release(this);
    try {
      if (typeof sink === 'function') sink(new Rejection(error));
      else sink?.reject(error);
    } catch (thrown) {
      throwUncaught(thrown);
    }
  }
}

// Defaults on the prototype: most entries need none of these fields, which would take 40 of 300 bytes and 3 % of the
// time.
Object.assign(Entry.prototype, {
  cohort: undefined,
  cohortIndex: 0,
  watch: undefined,
  watchIndex: 0,
  shared: undefined,
});

// Functions, not private methods, because private methods add a hidden field to each object.

function removalOf(entry: Entry): EntryRemoval | undefined {
  return entry.settled ? undefined : entry.lane?.group.removal;
}

/** Drops all references, so that a ticket kept by its caller keeps nothing else alive. */
function release<R>(entry: Entry<unknown, R>): Sink<R> | Resolve | undefined {
  const { sink, watch, cohort } = entry;
  entry.sink = undefined;
  if (cohort !== undefined) {
    cohort.entrySettled(entry);
    entry.cohort = undefined;
  }
  if (watch !== undefined) watch.remove(entry);
  // The item stays while other callers share it.
  if (entry.shared === undefined) {
    entry.item = undefined;
    entry.lane = undefined;
    entry.batch = undefined;
  }
  return sink;
}

/**
 * A thenable that rejects the promise which is resolved with it. Storing only `resolve` of each promise saves
 * 66 bytes a queued item on V8, for one more microtask when the item fails.
 */
class Rejection {
  readonly #error: Error;

  constructor(error: Error) {
    this.#error = error;
  }

  // biome-ignore lint/suspicious/noThenProperty: being thenable is the point
  then(_resolve: Resolve, reject: (error: Error) => void): void {
    reject(this.#error);
  }
}
