/**
 * Readmits queued calls when the limits change. The cost of a call is set at admission: 1 without batching, its rows
 * with batching. Calls with a cost under the old rule would make batches too large, or would fit in no batch. They
 * are removed from the queue and admitted again, and none of them is rejected.
 */
import type { Batcher, BatcherStats, BatchwiseError, LiveOptions } from 'batchwise';
import type { RunnerCall } from './runner-call.js';

export interface LimitChange<I, R> {
  /** The maximum cost of a call after the change. */
  readonly maxCost: number;
  /** The rule for the cost of calls changes. */
  readonly costsChange: boolean;
  readonly options: LiveOptions<I>;
  /** Called when the options are invalid. */
  undo(): void;
  /** The limit after the change, or after undo. */
  maxQueueSize(): number;
  /** Admits a call under the current limits. */
  readmit(call: RunnerCall<R>): void;
}

export class Readmission<R> {
  #oldest: RunnerCall<R> | undefined;
  #newest: RunnerCall<R> | undefined;
  /** The calls removed from the queue; set while the limits change. */
  #removed: RunnerCall<R>[] | undefined;
  #maxCost = Number.POSITIVE_INFINITY;
  #isRemoving = false;
  /** Calls that the batcher counts as cancelled or rejected although they were readmitted. */
  #cancelled = 0;
  #refused = 0;

  /** Adds a queued call whose cost may change if batching is enabled. */
  track(call: RunnerCall<R>): void {
    call.isTracked = true;
    call.older = this.#newest;
    if (this.#newest === undefined) this.#oldest = call;
    else this.#newest.newer = call;
    this.#newest = call;
  }

  /** Removes a call that runs or is settled. */
  untrack(call: RunnerCall<R>): void {
    if (!call.isTracked) return;
    const { older, newer } = call;
    if (older === undefined) this.#oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    call.older = undefined;
    call.newer = undefined;
    call.isTracked = false;
  }

  /** Changes the limits of a batcher. Invalid options change nothing. */
  change<I>(
    batcher: Batcher<I, R>,
    { maxCost, costsChange, options, undo, maxQueueSize, readmit }: LimitChange<I, R>,
  ): void {
    const removed: RunnerCall<R>[] = [];
    this.#removed = removed;
    this.#maxCost = maxCost;
    try {
      if (costsChange) this.#removeTracked();
      batcher.configure(options);
    } catch (error) {
      undo();
      throw error;
    } finally {
      this.#removed = undefined;
      if (removed.length > 0) {
        // The calls were admitted before: admission control and the queue limit do not apply again.
        batcher.configure({ admission: false, maxQueueSize: Number.POSITIVE_INFINITY });
        for (const call of removed.sort((a, b) => a.arrivedAt - b.arrivedAt)) readmit(call);
        batcher.configure({ admission: true, maxQueueSize: maxQueueSize() });
      }
    }
  }

  /** Whether a call that the batcher rejected will be readmitted. Its caller gets no error then. */
  claims(call: RunnerCall<R>, error: Error): boolean {
    if (this.#removed === undefined) return false;
    if (this.#isRemoving) this.#cancelled += 1;
    else if (call.cost > this.#maxCost && (error as BatchwiseError).code === 'INVALID_ITEM')
      this.#refused += 1;
    else return false;
    this.#removed.push(call);
    return true;
  }

  /** The statistics of the batcher without the removal of readmitted calls. */
  corrected(stats: BatcherStats): BatcherStats {
    if (this.#cancelled + this.#refused === 0) return stats;
    const { INVALID_ITEM: invalid = 0 } = stats.refusals;
    return {
      ...stats,
      submitted: stats.submitted - this.#cancelled - this.#refused,
      cancelled: stats.cancelled - this.#cancelled,
      refused: stats.refused - this.#refused,
      refusals: { ...stats.refusals, INVALID_ITEM: invalid - this.#refused },
    };
  }

  #removeTracked(): void {
    this.#isRemoving = true;
    while (this.#oldest !== undefined) this.#oldest.cancel('readmission');
    this.#isRemoving = false;
  }
}
