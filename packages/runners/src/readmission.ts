/**
 * Lets calls in again when the limits change under them. What a call counts as is settled when it comes in:
 * 1 where calls are not put together, its rows where they are. Those who came under the other rule would make
 * batches larger than they may be, or would not fit in any; so they leave the line and come back, and nobody
 * is turned away for it.
 */
import type { Batcher, BatcherStats, BatchwiseError, LiveOptions } from 'batchwise';
import type { RunnerCall } from './runner-call.js';

export interface LimitChange<I, R> {
  /** What nothing may count more than from now on. */
  readonly mostCost: number;
  /** Calls are counted differently from now on. */
  readonly isOtherRule: boolean;
  readonly options: LiveOptions<I>;
  /** Called when the options are refused. */
  undo(): void;
  /** As it is after the change, or after it was undone. */
  maxQueueSize(): number;
  /** Lets a call in by the limits of then. */
  enter(call: RunnerCall<R>): void;
}

export class Readmission<R> {
  #oldest: RunnerCall<R> | undefined;
  #newest: RunnerCall<R> | undefined;
  /** Those who are out of the line; set while the limits change. */
  #outside: RunnerCall<R>[] | undefined;
  #mostCost = Number.POSITIVE_INFINITY;
  #isClearing = false;
  /** What the books of the batcher say of those who came back, and is not so. */
  #cancelled = 0;
  #refused = 0;

  /** To be told of a call that waits and may count differently if calls were put together. */
  waits(call: RunnerCall<R>): void {
    call.isListed = true;
    call.olderOne = this.#newest;
    if (this.#newest === undefined) this.#oldest = call;
    else this.#newest.newerOne = call;
    this.#newest = call;
  }

  /** It runs, or was settled. */
  left(call: RunnerCall<R>): void {
    if (!call.isListed) return;
    const { olderOne, newerOne } = call;
    if (olderOne === undefined) this.#oldest = newerOne;
    else olderOne.newerOne = newerOne;
    if (newerOne === undefined) this.#newest = olderOne;
    else newerOne.olderOne = olderOne;
    call.olderOne = undefined;
    call.newerOne = undefined;
    call.isListed = false;
  }

  /** Changes the limits of a batcher. What is refused leaves everything as it was. */
  change<I>(
    batcher: Batcher<I, R>,
    { mostCost, isOtherRule, options, undo, maxQueueSize, enter }: LimitChange<I, R>,
  ): void {
    const outside: RunnerCall<R>[] = [];
    this.#outside = outside;
    this.#mostCost = mostCost;
    try {
      if (isOtherRule) this.#clear();
      batcher.configure(options);
    } catch (error) {
      undo();
      throw error;
    } finally {
      this.#outside = undefined;
      if (outside.length > 0) {
        // They were let in once: whether there is room and hope for them is not asked again.
        batcher.configure({ admission: false, maxQueueSize: Number.POSITIVE_INFINITY });
        for (const call of outside.sort((a, b) => a.arrivedAt - b.arrivedAt)) enter(call);
        batcher.configure({ admission: true, maxQueueSize: maxQueueSize() });
      }
    }
  }

  /** Whether a call that its batcher has turned out will come in again. It is not told then. */
  takes(call: RunnerCall<R>, error: Error): boolean {
    if (this.#outside === undefined) return false;
    if (this.#isClearing) this.#cancelled += 1;
    else if (call.cost > this.#mostCost && (error as BatchwiseError).code === 'INVALID_ITEM')
      this.#refused += 1;
    else return false;
    this.#outside.push(call);
    return true;
  }

  /** The books of the batcher, without those who left it only to come back. */
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

  #clear(): void {
    this.#isClearing = true;
    while (this.#oldest !== undefined) this.#oldest.cancel('it is let in again');
    this.#isClearing = false;
  }
}
